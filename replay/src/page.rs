//! What pages for a browser have in common. A page is one file, and loads nothing.

/// How pages look.
pub const STYLE: &str = "body{font:15px sans-serif;max-width:940px;margin:2em auto;padding:0 1em;color:#222}h1{font-size:1.2em;overflow-wrap:anywhere}\
    h2{font-size:1em;margin:1.4em 0 .2em}svg{max-width:100%;height:auto}table{border-collapse:collapse;font-size:13px}\
    td,th{padding:2px 8px;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}td.n{text-align:right}.note{background:#fff3d6;padding:.4em}";

/// The beginning of a page with this title (which may hold anything), and with rules of its own behind [`STYLE`].
pub fn beginning(title: &str, style: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}{style}</style><h1>{title}</h1>"
    )
}

/// Text as a page has it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
