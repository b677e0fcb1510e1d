//! Statements on their way together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use super::{Addition, Call, CombineKey, Group, Member, Outcome, Repeated, Told, Work};
use crate::catalog::HotTable;
use crate::counter::SlotRow;
use crate::spans::{MOST_LINKS, SpanContext, TracedBatch};
use crate::sql::Amount;
use crate::sql::template::{Filling, Template};

/// The most statements that wait for one key.
const MOST_WAITING: usize = 4096;

/// The most steps of a part: statements that are not added up.
const MOST_STEPS: usize = 256;

/// How many statements of a key are remembered to have changed nothing.
const MOST_IDLE: usize = 8;

/// The statements of one key.
#[derive(Debug)]
pub struct Part {
    pub(super) key: Arc<CombineKey>,
    table: Arc<HotTable>,
    /// What is run, in this order.
    steps: Vec<Step>,
    /// The step that the leader's own statement is in, if it is among them.
    leaders: Option<usize>,
    /// Spans of statements that are traced, [`MOST_LINKS`] at most.
    spans: Vec<SpanContext>,
}

/// One statement to the server, for one session or several.
#[derive(Debug)]
pub struct Step {
    work: Work,
    /// For how many sessions it is.
    count: usize,
    seats: VecDeque<oneshot::Sender<Call>>,
    told: Option<Told>,
    /// It has run, and changed nothing.
    is_idle: bool,
}

impl Part {
    /// Of the leader alone.
    pub(super) fn alone(member: Member) -> Self {
        Self {
            key: member.key,
            table: member.table,
            steps: vec![Step::of(member.work)],
            leaders: Some(0),
            spans: member.span.into_iter().collect(),
        }
    }

    /// Of a session that waits.
    pub(super) fn waiting(member: Member, call: oneshot::Sender<Call>) -> Self {
        let mut part = Self::alone(member);
        part.leaders = None;
        part.steps[0].seats.push_back(call);
        part
    }

    /// Takes in another statement, or gives its session back: there are too many, or the sum would not be exact.
    ///
    /// Statements that wait at the same time may run in any order, so increments of one kind become one sum.
    pub(super) fn join(
        &mut self,
        work: Work,
        span: Option<SpanContext>,
        call: oneshot::Sender<Call>,
    ) -> Result<(), oneshot::Sender<Call>> {
        if self.count() >= MOST_WAITING {
            return Err(call);
        }
        if self.spans.len() < MOST_LINKS {
            self.spans.extend(span);
        }
        if let Work::Sum(addition) = &work
            && let Some(step) = self.steps.iter_mut().find(|step| step.is_like(addition))
        {
            return match step.add(&addition.amounts) {
                true => {
                    step.seats.push_back(call);
                    Ok(())
                }
                false => Err(call),
            };
        }
        if let Work::Itself {
            text,
            repeated: Some(_),
            ..
        } = &work
            && let Some(step) = self.steps.iter_mut().find(|step| step.is_of(text))
        {
            step.count += 1;
            step.seats.push_back(call);
            return Ok(());
        }
        if self.steps.len() >= MOST_STEPS {
            return Err(call);
        }
        let mut step = Step::of(work);
        step.seats.push_back(call);
        self.steps.push(step);
        Ok(())
    }

    /// Leaves out statements of sessions that have gone. Makes one step of all that are one of these statements, which
    /// changed nothing when they ran last: if it changes nothing again, that answers them all, for each would have
    /// found the row as the first one did.
    pub(super) fn gather(&mut self, idle: &[Arc<[u8]>]) {
        for step in &mut self.steps {
            step.let_go();
        }
        self.steps.retain(|step| step.count > 0);
        for text in idle {
            let mut first: Option<usize> = None;
            let mut at = 0;
            while at < self.steps.len() {
                let is_it = self.steps[at].is_of(text);
                match first {
                    Some(first) if is_it => {
                        let step = self.steps.remove(at);
                        self.steps[first].count += step.count;
                        self.steps[first].seats.extend(step.seats);
                    }
                    _ => {
                        if is_it {
                            first = Some(at);
                        }
                        at += 1;
                    }
                }
            }
        }
    }

    /// The table.
    pub fn table(&self) -> &Arc<HotTable> {
        &self.table
    }

    /// What is run, in this order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The same, each with the table.
    pub fn steps_of_table(&self) -> impl Iterator<Item = (&Arc<HotTable>, &Step)> {
        self.steps.iter().map(|step| (&self.table, step))
    }

    /// What the slot row is known by.
    pub fn slot_row(&self) -> &SlotRow {
        &self.key.slot_row
    }

    /// For how many sessions it is.
    pub fn count(&self) -> usize {
        self.steps.iter().map(|step| step.count).sum()
    }

    /// Whether the leader's own statement is among them.
    pub fn is_leaders(&self) -> bool {
        self.leaders.is_some()
    }

    /// The step that the leader's own statement is in, if it is among them.
    pub fn leaders_step(&self) -> Option<usize> {
        self.leaders
    }

    /// The session that has waited longest.
    fn take_leader(&mut self) -> Option<oneshot::Sender<Call>> {
        self.leaders = self.steps.iter().position(|step| !step.seats.is_empty());
        self.steps[self.leaders?].seats.pop_front()
    }
}

impl Step {
    fn of(work: Work) -> Self {
        Self {
            work,
            count: 1,
            seats: VecDeque::new(),
            told: None,
            is_idle: false,
        }
    }

    /// What is run.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// For how many sessions it is.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether it may set what LAST_INSERT_ID() returns.
    pub fn sets_last_insert_id(&self) -> bool {
        self.work.sets_last_insert_id()
    }

    /// How several of it are written as one.
    pub fn repeated(&self) -> Option<&Repeated> {
        match &self.work {
            Work::Itself { repeated, .. } => repeated.as_ref(),
            Work::Sum(_) => None,
        }
    }

    /// Leaves out sessions that have gone, unless what they add is in the sum already.
    fn let_go(&mut self) {
        if let Work::Itself { .. } = self.work {
            self.seats.retain(|seat| !seat.is_closed());
            self.count = self.seats.len();
        }
    }

    /// Whether it is this statement.
    fn is_of(&self, text: &Arc<[u8]>) -> bool {
        matches!(&self.work, Work::Itself { text: own, .. } if own == text)
    }

    /// Whether it is of increments of this kind.
    fn is_like(&self, addition: &Addition) -> bool {
        matches!(&self.work, Work::Sum(own) if own.increment.shape == addition.increment.shape
            && own.increment.times == addition.increment.times)
    }

    /// Adds another increment; false if the sum would not be exact.
    fn add(&mut self, amounts: &[Amount]) -> bool {
        let Work::Sum(addition) = &mut self.work else {
            return false;
        };
        let sums = addition.amounts.iter().zip(amounts);
        let sums: Option<Vec<_>> = sums.map(|(sum, amount)| sum.plus(*amount)).collect();
        match sums {
            Some(sums) => {
                addition.amounts = sums;
                self.count += 1;
                true
            }
            None => false,
        }
    }

    /// Reports the outcome to all sessions that wait for it. The leader knows its own.
    fn tell(&mut self, unsettled: &Outcome, is_leaders: bool, traced: Option<&Arc<TracedBatch>>) {
        let told = self.told.take();
        let told = told.unwrap_or_else(|| Told::All(unsettled.clone()));
        for (position, call) in (usize::from(is_leaders)..).zip(self.seats.drain(..)) {
            let outcome = told.to(position);
            call.send(Call::Done(outcome, traced.cloned())).ok();
        }
    }
}

impl Work {
    /// The same for all texts that differ in their constants only.
    pub fn shape(&self) -> u64 {
        match self {
            Self::Sum(sum) => sum.increment.shape,
            Self::Itself { shape, .. } => *shape,
        }
    }

    /// Has it run by itself if it is of such a shape.
    pub fn forget_repeats(&mut self, is_one_by_one: impl Fn(u64) -> bool) {
        if let Self::Itself {
            shape, repeated, ..
        } = self
            && repeated.is_some()
            && is_one_by_one(*shape)
        {
            *repeated = None;
        }
    }

    /// Whether it may set what LAST_INSERT_ID() returns.
    pub fn sets_last_insert_id(&self) -> bool {
        matches!(
            self,
            Self::Itself {
                sets_last_insert_id: true,
                ..
            }
        )
    }
}

impl Addition {
    /// A statement that adds the sums, in this slot.
    pub fn render(&self, template: &Template, slot: u16) -> Vec<u8> {
        let filling = Filling {
            slot,
            parameters: &self.parameters,
            sums: &self.amounts,
            ..Filling::default()
        };
        let mut text = Vec::new();
        template.render(&filling, &mut text);
        text
    }

    /// Whether the sums are zero, or so large that a row with room for one slot may not have room for them.
    pub fn may_meet_limits(&self, table: &HotTable) -> bool {
        let counters = self.increment.counters.iter();
        let mut sums = counters.zip(&self.amounts);
        sums.any(|(column, sum)| {
            let bounds = table
                .counter(*column)
                .and_then(|counter| counter.bounds.as_ref());
            let limit = bounds.and_then(|bounds| Amount::parse(&bounds.slot));
            sum.is_zero() || !limit.is_some_and(|limit| sum.is_within(limit))
        })
    }
}

/// Statements that one session writes: all of one transaction.
///
/// When it is dropped, all sessions in it learn the outcome of their statements. Steps that are not settled are not
/// written; once [`Batch::send`] was called, their outcome is unknown.
#[derive(Debug)]
pub struct Batch {
    group: Arc<Group>,
    parts: Vec<Part>,
    has_lane: AtomicBool,
    is_sent: AtomicBool,
    /// What is remembered of it, if batches are traced.
    traced: Option<Arc<TracedBatch>>,
}

impl Batch {
    pub(super) fn new(group: Arc<Group>, parts: Vec<Part>, has_lane: bool) -> Self {
        Self {
            group,
            parts,
            has_lane: AtomicBool::new(has_lane),
            is_sent: AtomicBool::new(false),
            traced: None,
        }
    }

    /// Its statements, by key.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether it is the leader's own statement and nothing else.
    pub fn is_single(&self) -> bool {
        matches!(&self.parts[..], [part] if part.count() == 1 && part.is_leaders())
    }

    /// From here on bytes may have been sent: what is not settled has an unknown outcome if the connection is lost.
    pub fn send(&self) {
        self.is_sent.store(true, Ordering::Relaxed);
        if let Some(traced) = &self.traced {
            traced.send();
        }
    }

    /// Remembers from here on what spans show of it. `leader`: the span of the leader's statement, if it is traced.
    pub fn trace(&mut self, leader: Option<SpanContext>) -> Arc<TracedBatch> {
        let statements = self.parts.iter().map(Part::count).sum();
        let spans = self
            .parts
            .iter()
            .flat_map(|part| part.spans.iter().copied());
        let others = spans.filter(|span| Some(*span) != leader).take(MOST_LINKS);
        let traced = TracedBatch::begin(statements, leader, others.collect());
        let traced = Arc::new(traced);
        self.traced = Some(Arc::clone(&traced));
        traced
    }

    /// Sets the outcome of a step of a part; its sessions learn it when the batch is dropped. `is_idle`: it has changed
    /// nothing.
    pub fn settle(&mut self, (part, step): (usize, usize), told: Told, is_idle: bool) {
        let step = &mut self.parts[part].steps[step];
        step.told = Some(told);
        step.is_idle = is_idle;
    }

    /// It takes long, perhaps because it waits for a lock: others need not wait for its lane.
    pub fn give_lane_back(&self) {
        if self.has_lane.swap(false, Ordering::Relaxed) {
            self.group.land(Vec::new(), true);
        }
    }

    /// Keeps the parts for which `stays` holds, if there are several parts; each of the others goes by itself, led by
    /// one of its own sessions. If the leader's own part is among those, it stays instead, alone.
    pub fn split(&mut self, stays: impl Fn(&Part) -> bool) {
        let is_alone = self.parts.len() < 2;
        let leaders_stays = self
            .parts
            .iter()
            .any(|part| part.is_leaders() && stays(part));
        if is_alone {
            return;
        }
        let (staying, leaving): (Vec<_>, Vec<_>) = std::mem::take(&mut self.parts)
            .into_iter()
            .partition(|part| match leaders_stays {
                true => stays(part),
                false => part.is_leaders(),
            });
        self.parts = staying;
        let (together, apart): (Vec<_>, Vec<_>) = leaving.into_iter().partition(stays);
        let mut batches: Vec<_> = apart.into_iter().map(|part| vec![part]).collect();
        if !together.is_empty() {
            batches.push(together);
        }
        for parts in batches {
            Self::new(Arc::clone(&self.group), parts, false).call_leader();
        }
    }

    /// Makes one of the waiting sessions lead. If none is left, there is nothing to write.
    pub(super) fn call_leader(mut self) {
        while let Some(call) = self.take_leader() {
            match call.send(Call::Lead(self)) {
                Ok(()) => return,
                Err(Call::Lead(batch)) => self = batch,
                Err(Call::Done(..)) => return,
            }
        }
    }

    /// The session that has waited longest at the first key.
    fn take_leader(&mut self) -> Option<oneshot::Sender<Call>> {
        for part in &mut self.parts {
            part.leaders = None;
        }
        self.parts.iter_mut().find_map(Part::take_leader)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let outcome = match self.is_sent.load(Ordering::Relaxed) {
            true => Outcome::Lost,
            false => Outcome::NotWritten,
        };
        let traced = self.traced.take();
        if let Some(traced) = &traced {
            traced.end();
        }
        let mut parts = std::mem::take(&mut self.parts);
        let keys = parts.iter().map(|part| {
            let idle = part.steps.iter().filter(|step| step.is_idle);
            let idle = idle.filter_map(|step| match &step.work {
                Work::Itself { text, .. } => Some(Arc::clone(text)),
                Work::Sum(_) => None,
            });
            (Arc::clone(&part.key), idle.take(MOST_IDLE).collect())
        });
        let keys: Vec<_> = keys.collect();
        // The next batch first: the server is idle until it comes.
        let has_lane = self.has_lane.load(Ordering::Relaxed);
        if !keys.is_empty() || has_lane {
            self.group.land(keys, has_lane);
        }
        for part in &mut parts {
            let leaders = part.leaders;
            for (index, step) in part.steps.iter_mut().enumerate() {
                step.tell(&outcome, leaders == Some(index), traced.as_ref());
            }
        }
    }
}
