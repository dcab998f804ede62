//! Which dependencies are to go where some of them form cycles: those that were chance, then the least trusted. A rare case: the
//! graph is made here once more, as petgraph has it.

use super::Graph;
use crate::graph::dependency::Dependencies;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;

/// In place of a dependency: program order.
const PROGRAM_ORDER: u32 = u32::MAX;

/// In every cycle those that were chance or, without such, the least trusted dependency, the latest of several; or all of them.
pub(super) fn worst(graph: &Graph, dependencies: &Dependencies, all: bool) -> Vec<u32> {
    let graph = with_edges(graph, dependencies);
    let mut worst = Vec::new();
    let mut component_of = vec![u32::MAX; graph.node_count()];
    let components = tarjan_scc(&graph);
    for (index, component) in components.iter().enumerate().filter(|(_, nodes)| nodes.len() > 1) {
        component.iter().for_each(|node| component_of[node.index()] = index as u32);
    }
    let mut candidates: Vec<(u32, u32)> = graph
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
        let index = dependency as usize;
        (dependencies.is_chance(index), dependencies.rule(index), latest, dependency)
    };
    candidates.sort_unstable_by_key(|&(component, dependency)| (component, Reverse(badness(dependency))));
    for of_component in candidates.chunk_by(|one, other| one.0 == other.0) {
        let was_chance = |candidate: &&(u32, u32)| dependencies.is_chance(candidate.1 as usize);
        // Nothing is lost with what was chance, and without it there may be no cycle.
        let count =
            if all { of_component.len() } else { of_component.iter().filter(was_chance).count().max(1) };
        worst.extend(of_component[..count].iter().map(|&(_, dependency)| dependency));
    }
    worst
}

/// Nodes are the places of points, and one for each dependency of several sources and several targets.
fn with_edges(graph: &Graph, dependencies: &Dependencies) -> DiGraph<(), u32> {
    let mut edges = DiGraph::new();
    for _ in 0..graph.limit() {
        edges.add_node(());
    }
    let node = |moment: usize| NodeIndex::new(graph.point_of(moment));
    for point in graph.points() {
        if let Some(next) = graph.next(dependencies, point) {
            edges.add_edge(NodeIndex::new(point), NodeIndex::new(next), PROGRAM_ORDER);
        }
    }
    for dependency in (0..dependencies.len() as u32).filter(|&dependency| !graph.is_dropped(dependency)) {
        let (sources, targets) =
            (dependencies.source_range(dependency as usize), dependencies.target_range(dependency as usize));
        if sources.len() == 1 || targets.len() == 1 {
            for (source, target) in
                sources.flat_map(|source| targets.clone().map(move |target| (source, target)))
            {
                edges.add_edge(node(source), node(target), dependency);
            }
            continue;
        }
        let middle = edges.add_node(());
        for source in sources {
            edges.add_edge(node(source), middle, dependency);
        }
        for target in targets {
            edges.add_edge(middle, node(target), dependency);
        }
    }
    edges
}
