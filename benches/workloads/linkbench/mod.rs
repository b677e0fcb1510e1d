//! LinkBench, written from what its authors have published: tables, statements, the mix of operations and how ids are
//! chosen. It is the work of a social graph: nodes, links between them, and for each node the number of its links.
//!
//! What is not as they have it: there are fewer nodes, so that the most popular ones are more popular; the degree of
//! nodes and the lengths of texts follow simple formulas rather than measured distributions; `linktable` is not
//! partitioned; and no list is continued from where an earlier one ended.

mod checks;
mod graph;
mod links;
mod load;
mod nodes;
mod zipf;

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use rand::RngExt;
use rand::rngs::SmallRng;

use crate::course::RuleOptions;
use crate::session::{Interrupted, Session};
use crate::workload::{Acknowledged, Check, Done, Workload};
use graph::Graph;
use links::LinkTask;
use nodes::NodeTask;
use zipf::Zipf;

/// What is particular to LinkBench.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Nodes at first; LinkBench has ten million.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    #[command(flatten)]
    rule: RuleOptions,
}

/// LinkBench with a graph of this size.
#[derive(Clone, Debug)]
pub struct LinkBench {
    graph: Graph,
    rule: RuleOptions,
    link_reads: Zipf,
    link_writes: Zipf,
    node_reads: Zipf,
    node_updates: Zipf,
}

/// An operation, with the position of its kind among [`Workload::KINDS`].
pub struct Task {
    kind: usize,
    operation: Operation,
}

enum Operation {
    Link(LinkTask),
    Node(NodeTask),
}

/// The published mix: millionths of all operations, in the order of the kinds.
const MIX: [u32; 10] = [
    89_887, 29_908, 80_122, 48_864, 5_261, 507_119, 129_327, 25_733, 73_664, 10_115,
];

impl LinkBench {
    pub fn new(arguments: &Arguments) -> Self {
        let zipf = |shape| Zipf::new(arguments.nodes, shape);
        Self {
            graph: Graph {
                nodes: arguments.nodes,
            },
            rule: arguments.rule.clone(),
            link_reads: zipf(0.8),
            link_writes: zipf(0.741),
            node_reads: zipf(0.625),
            node_updates: zipf(0.606),
        }
    }

    fn operation(&self, kind: usize, random: &mut SmallRng) -> Operation {
        let link_write = |random: &mut SmallRng, share| {
            let from = self.link_writes.draw(random);
            self.graph.draw_link(from, share, random)
        };
        match kind {
            0 => Operation::Link(LinkTask::add(link_write(random, 0.05), random)),
            1 => Operation::Link(LinkTask::delete(link_write(random, 0.9))),
            // To update a link is to add one that is there, most of the time.
            2 => Operation::Link(LinkTask::add(link_write(random, 0.9), random)),
            3 => {
                let from = self.link_reads.draw(random);
                Operation::Link(LinkTask::count(self.graph.draw_link(from, 1.0, random)))
            }
            4 => {
                let from = self.link_reads.draw(random);
                Operation::Link(LinkTask::get(self.graph.draw_links(from, 0.5, random)))
            }
            5 => {
                let from = self.link_reads.draw(random);
                Operation::Link(LinkTask::list(self.graph.draw_link(from, 1.0, random)))
            }
            6 => Operation::Node(NodeTask::get(self.node_reads.draw(random))),
            7 => Operation::Node(NodeTask::add(random)),
            8 => Operation::Node(NodeTask::update(self.node_updates.draw(random), random)),
            _ => Operation::Node(NodeTask::delete(random.random_range(1..=self.graph.nodes))),
        }
    }
}

impl Workload for LinkBench {
    type Task = Task;

    const NAME: &'static str = "linkbench";

    const KINDS: &'static [&'static str] = &[
        "add_link",
        "delete_link",
        "update_link",
        "count_links",
        "get_link",
        "get_link_list",
        "get_node",
        "add_node",
        "update_node",
        "delete_node",
    ];

    const TABLES: &'static [(&'static str, &'static str)] = load::TABLES;

    fn title(&self) -> String {
        format!(
            "LinkBench, nodes at first: {} (its default: 10000000)\nhot: count and version of counttable, {}",
            self.graph.nodes, self.rule
        )
    }

    async fn load(&self, session: &mut Session) -> Result<(), Interrupted> {
        load::load(self.graph, session).await
    }

    fn rules(&self, schema: &str) -> String {
        format!(
            "- {{table: {schema}.counttable, columns: [count, version], {}}}\n",
            self.rule
        )
    }

    fn draw(&self, _client: usize, random: &mut SmallRng) -> Task {
        let mut left = random.random_range(0..MIX.iter().sum());
        let kind = MIX.iter().position(|&share| {
            let is_it = left < share;
            left = left.saturating_sub(share);
            is_it
        });
        let kind = kind.expect("it is below the sum");
        Task {
            kind,
            operation: self.operation(kind, random),
        }
    }

    fn kind(task: &Task) -> usize {
        task.kind
    }

    /// What is counted are the counts of links that were changed, rather than inserted.
    async fn play(&self, task: &Task, session: &mut Session) -> Result<Done, Interrupted> {
        match &task.operation {
            Operation::Link(task) => task.play(session).await,
            Operation::Node(task) => task.play(session).await,
        }
    }

    fn checks(&self, acknowledged: &Acknowledged) -> Vec<Check> {
        checks::of(acknowledged)
    }
}

/// Milliseconds since 1970.
fn now() -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("it is later than 1970").as_millis()
}

/// This many printable characters, none of which SQL takes for anything else.
fn data(length: usize, random: &mut SmallRng) -> String {
    let letter = |_| char::from(random.random_range(b'a'..=b'z'));
    (0..length).map(letter).collect()
}
