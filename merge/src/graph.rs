//! The dependency graph: points that take part in a dependency, connected by program order and by the rules.
//!
//! A dependency of several sources and several targets (a barrier) gets a node of its own in the middle, so that it
//! takes m + m edges and not m · m.

pub mod dependency;
pub mod reduce;
pub mod schedule;

use crate::graph::dependency::{Dependencies, Point};
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An edge's dependency, or program order.
const PROGRAM_ORDER: u32 = u32::MAX;
/// After so many rounds of breaking one cycle each, all dependencies that are still in cycles go at once.
const MOST_ROUNDS: usize = 64;

/// The graph of a run. Nodes are the points, sorted, and then the middles.
#[derive(Debug)]
pub struct Graph {
    graph: DiGraph<(), u32>,
    points: Vec<Point>,
    node_of_moment: Vec<u32>,
    node_ns: Vec<u64>,
    order: Vec<u32>,
    /// Dependencies that were taken out because they closed a cycle.
    pub dropped: Vec<u32>,
}

impl Graph {
    /// Builds the graph, and takes out dependencies until there is no cycle.
    pub fn build(dependencies: &Dependencies) -> Graph {
        let mut graph = Graph::nodes(dependencies);
        for dependency in 0..dependencies.len() as u32 {
            graph.connect(dependencies, dependency);
        }
        graph.settle(dependencies);
        graph
    }

    /// The points in the order of their threads, and in program order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The position among the points of every moment of the dependencies.
    pub fn point_of_moment(&self, moment: usize) -> usize {
        self.node_of_moment[moment] as usize
    }

    /// Every point before those that come after it, by time where the dependencies leave a choice.
    pub fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|&node| node as usize).filter(|&node| node < self.points.len())
    }

    /// The dependencies that a point is a target of.
    pub fn waits(&self, point: usize) -> impl Iterator<Item = u32> + '_ {
        self.dependencies_at(point, Incoming)
    }

    /// The dependencies that a point is a source of.
    pub fn signals(&self, point: usize) -> impl Iterator<Item = u32> + '_ {
        self.dependencies_at(point, Outgoing)
    }

    fn dependencies_at(
        &self,
        point: usize,
        direction: petgraph::Direction,
    ) -> impl Iterator<Item = u32> + '_ {
        let edges = self.graph.edges_directed(NodeIndex::new(point), direction);
        edges.map(|edge| *edge.weight()).filter(|&dependency| dependency != PROGRAM_ORDER)
    }

    fn nodes(dependencies: &Dependencies) -> Graph {
        let moments = dependencies.moments();
        let mut placed: Vec<(Point, u32)> = Vec::with_capacity(moments.len());
        for dependency in 0..dependencies.len() {
            let range =
                dependencies.source_range(dependency).start..dependencies.target_range(dependency).end;
            placed.extend(range.map(|moment| (moments[moment].point, moment as u32)));
        }
        placed.sort_unstable();
        let mut graph = Graph {
            graph: DiGraph::new(),
            points: Vec::new(),
            node_of_moment: vec![0; moments.len()],
            node_ns: Vec::new(),
            order: Vec::new(),
            dropped: Vec::new(),
        };
        for (point, moment) in placed {
            if graph.points.last() != Some(&point) {
                graph.add_point(point);
            }
            let node = graph.points.len() - 1;
            graph.node_ns[node] = graph.node_ns[node].max(moments[moment as usize].ns);
            graph.node_of_moment[moment as usize] = node as u32;
        }
        graph
    }

    fn add_point(&mut self, point: Point) {
        let node = self.graph.add_node(());
        if self.points.last().is_some_and(|before| before.thread == point.thread) {
            self.graph.add_edge(NodeIndex::new(node.index() - 1), node, PROGRAM_ORDER);
        }
        self.points.push(point);
        self.node_ns.push(0);
    }

    fn connect(&mut self, dependencies: &Dependencies, dependency: u32) {
        let node = |graph: &Graph, moment: usize| NodeIndex::new(graph.node_of_moment[moment] as usize);
        let (sources, targets) =
            (dependencies.source_range(dependency as usize), dependencies.target_range(dependency as usize));
        if sources.len() == 1 || targets.len() == 1 {
            for source in sources {
                for target in targets.clone() {
                    let (from, to) = (node(self, source), node(self, target));
                    self.graph.add_edge(from, to, dependency);
                }
            }
            return;
        }
        let middle = self.graph.add_node(());
        self.node_ns.push(
            dependencies.sources(dependency as usize).iter().map(|source| source.ns).max().unwrap_or(0),
        );
        for source in sources {
            self.graph.add_edge(node(self, source), middle, dependency);
        }
        for target in targets {
            self.graph.add_edge(middle, node(self, target), dependency);
        }
    }

    /// Finds the order, breaking cycles on the way. A cycle can only come from clocks that could not be aligned or
    /// from rules that take the recorded times for an order.
    fn settle(&mut self, dependencies: &Dependencies) {
        for round in 0.. {
            self.order = self.by_time();
            if self.order.len() == self.graph.node_count() {
                return;
            }
            let mut worst = self.worst_in_cycles(dependencies, round >= MOST_ROUNDS);
            assert!(!worst.is_empty(), "program order alone has no cycle");
            worst.sort_unstable();
            worst.dedup();
            self.graph.retain_edges(|graph, edge| worst.binary_search(&graph[edge]).is_err());
            self.dropped.extend(worst);
        }
    }

    /// Kahn's algorithm; among the nodes that are ready the earliest is next. Nodes in and behind cycles are left out.
    fn by_time(&self) -> Vec<u32> {
        let count = self.graph.node_count();
        let mut before = vec![0u32; count];
        for edge in self.graph.edge_references() {
            before[edge.target().index()] += 1;
        }
        let entry = |node: usize| Reverse((self.node_ns[node], node as u32));
        let mut ready: BinaryHeap<_> = (0..count).filter(|&node| before[node] == 0).map(entry).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse((_, node))) = ready.pop() {
            order.push(node);
            for next in self.graph.neighbors(NodeIndex::new(node as usize)) {
                before[next.index()] -= 1;
                if before[next.index()] == 0 {
                    ready.push(entry(next.index()));
                }
            }
        }
        order
    }

    /// In every cycle the least trusted dependency, the latest of several; or all of them.
    fn worst_in_cycles(&self, dependencies: &Dependencies, all: bool) -> Vec<u32> {
        let mut worst = Vec::new();
        let mut component_of = vec![u32::MAX; self.graph.node_count()];
        let components = tarjan_scc(&self.graph);
        for (index, component) in components.iter().enumerate().filter(|(_, nodes)| nodes.len() > 1) {
            component.iter().for_each(|node| component_of[node.index()] = index as u32);
        }
        let mut candidates: Vec<(u32, u32)> = self
            .graph
            .edge_references()
            .filter(|edge| *edge.weight() != PROGRAM_ORDER)
            .map(|edge| {
                (component_of[edge.source().index()], component_of[edge.target().index()], *edge.weight())
            })
            .filter(|&(from, to, _)| from == to && from != u32::MAX)
            .map(|(component, _, dependency)| (component, dependency))
            .collect();
        let badness = |dependency: u32| {
            let latest = dependencies.sources(dependency as usize).iter().map(|source| source.ns).max();
            (dependencies.rule(dependency as usize), latest, dependency)
        };
        candidates.sort_unstable_by_key(|&(component, dependency)| (component, Reverse(badness(dependency))));
        for (position, &(component, dependency)) in candidates.iter().enumerate() {
            if all || position == 0 || candidates[position - 1].0 != component {
                worst.push(dependency);
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependency::{Moment, Stage};
    use syn_plan::Rule;

    fn moment(thread: u32, record: u32, ns: u64) -> Moment {
        Moment { point: Point { thread, record, stage: Stage::Enter }, ns }
    }

    #[test]
    fn a_cycle_loses_its_least_trusted_dependency() {
        let mut all = Dependencies::default();
        all.add_one(Rule::Message, moment(0, 2, 20), moment(1, 1, 15));
        all.add_one(Rule::FileData, moment(1, 2, 16), moment(0, 1, 19));
        all.add_one(Rule::Message, moment(0, 3, 30), moment(2, 1, 40));
        let graph = Graph::build(&all);
        assert_eq!(graph.dropped, [1]);
        assert_eq!(graph.order().count(), graph.points().len());
    }

    #[test]
    fn the_order_follows_time_where_it_may() {
        let mut all = Dependencies::default();
        all.add(
            Rule::Collective,
            &[moment(0, 1, 10), moment(1, 1, 50)],
            &[moment(0, 2, 60), moment(1, 2, 61)],
        );
        all.add_one(Rule::Message, moment(2, 1, 20), moment(3, 1, 30));
        let graph = Graph::build(&all);
        let threads: Vec<u32> = graph.order().map(|point| graph.points()[point].thread).collect();
        assert_eq!(threads, [0, 2, 3, 1, 0, 1]);
    }
}
