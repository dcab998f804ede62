//! What to tell besides the result.

/// Collects facts, remarks, and warnings: remarks that mean the result needs a look.
#[derive(Debug, Default)]
pub struct Notes {
    /// How the plan was made; nothing is missing because of it.
    pub facts: Vec<String>,
    /// What was left out or could not be seen.
    pub remarks: Vec<String>,
    /// What makes the result doubtful.
    pub warnings: Vec<String>,
}

impl Notes {
    /// Something to tell.
    pub fn tell(&mut self, what: impl Into<String>) {
        self.facts.push(what.into());
    }

    /// Something to know before using the result.
    pub fn remark(&mut self, what: impl Into<String>) {
        self.remarks.push(what.into());
    }

    /// Something to look at before trusting the result.
    pub fn warn(&mut self, what: impl Into<String>) {
        self.warnings.push(what.into());
    }

    /// Whatever others say, behind what is said here.
    pub fn append(&mut self, others: Notes) {
        self.facts.extend(others.facts);
        self.remarks.extend(others.remarks);
        self.warnings.extend(others.warnings);
    }
}
