//! Statements that wait for one row of a table without slots run in one transaction, each as it came. Increments of a
//! kind are one statement.

use std::sync::Arc;

use crate::counter::combine::{Answer, Batch, Message, Outcome, Part, Repeated, Step, Told, Work};
use crate::counter::fold::{BEGIN, COMMIT};
use crate::session::Session;
use crate::session::act::batch_outcome::{
    Texts, changes_nothing, failed, is_in_transaction, is_of_the_statement, is_the_leaders,
    patiently,
};
use crate::session::diagnostics::SHOW_WARNINGS;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::link::rewrite::patch_status;
use crate::session::state::combining::Combining;
use crate::sql;
use crate::wire::command::encode_query;
use crate::wire::error_code::lacks_privilege;
use crate::wire::reader::Malformed;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::response::PacketKind;
use crate::wire::status;

/// How many statements are sent at once, at the most. One that waits for a lock besides the row's own, such as a
/// parent's, may exceed the time for that; those sent behind it then wait as well.
const AT_ONCE: usize = 32;

/// What is sent for a step.
pub(super) enum Sent {
    Sum(Texts),
    Itself {
        text: Arc<[u8]>,
        shape: u64,
        /// It is asked for its messages: statements of its shape leave some.
        is_asked: bool,
    },
    /// The first of several, of which one statement does what the others do.
    Repeated {
        text: Arc<[u8]>,
        shape: u64,
        is_asked: bool,
        repeated: Repeated,
        others: u32,
    },
}

/// What a step has come to while its transaction is open.
enum Ran {
    Written(Answer),
    /// The transaction was not open, so the statement was committed by itself.
    WrittenAlone(Answer),
    /// The statement has failed for itself, and the transaction goes on.
    Failed(Answer),
    /// It was not sent, or has found no row.
    Not,
}

/// What has ended a transaction before all of its statements had run.
pub(super) enum End {
    Error(Vec<u8>),
    /// The row could not be locked.
    NotLocked(Vec<u8>),
    /// A statement has left messages, and was not asked for them.
    Unasked,
    /// It was no longer open.
    Closed,
    /// There is no such row.
    NoRow,
    /// The table, which has no primary key, has several rows: what is written for several clients is for one row.
    SeveralRows,
}

/// The statements of one transaction.
pub(super) struct Steps {
    pub(super) sent: Vec<Sent>,
    ran: Vec<Ran>,
    /// Of how many others than the first one a statement has done the work, and how each of them is answered.
    pub(super) others: Vec<Vec<Answer>>,
    /// What has ended them early, and at which.
    pub(super) end: Option<(usize, End)>,
    /// Shapes of statements that have left messages, and were not asked for them.
    pub(super) unasked: Vec<u64>,
    /// Shapes of statements of which one does not do what several do.
    pub(super) one_by_one: Vec<u64>,
    /// What LAST_INSERT_ID() returned before, where one of them may set it.
    own_id: Option<u64>,
}

/// What became of a batch of one row.
pub(crate) enum Led {
    /// The outcome of the leader's own statement.
    Done(Outcome),
    /// There is no such row, and nothing was run.
    NoRow(Batch),
}

impl Session {
    /// What LAST_INSERT_ID() returns in this session.
    async fn last_insert_id(&mut self) -> Result<u64, Error> {
        let answer = self.insist(OWN_ID).await?;
        id_in(&answer).ok_or(Malformed.into())
    }

    /// Writes a batch of one row.
    pub(crate) async fn lead_steps(&mut self, mut batch: Batch) -> Result<Led, Error> {
        let part = &batch.parts()[0];
        let leaders = part.leaders_step();
        let sent = part.steps().iter().map(|step| self.sent(part, step));
        let mut steps = Steps {
            ran: part.steps().iter().map(|_| Ran::Not).collect(),
            others: part.steps().iter().map(|_| Vec::new()).collect(),
            sent: sent.collect(),
            end: None,
            unasked: Vec::new(),
            one_by_one: Vec::new(),
            own_id: None,
        };
        let set_last_insert_id = part.steps().iter().map(Step::sets_last_insert_id);
        let set_last_insert_id: Vec<bool> = set_last_insert_id.collect();
        let is_one_kind = steps.need_no_lock(part);
        if set_last_insert_id.contains(&true) {
            steps.own_id = self.state.last_insert_id_due.take();
            if steps.own_id.is_none() && !is_one_kind {
                steps.own_id = Some(self.last_insert_id().await?);
            }
        }
        let late = || batch.give_lane_back();
        let outcomes = patiently(self.write_steps(&mut steps, &batch), late).await?;
        let Some(mut outcomes) = outcomes else {
            self.state.last_insert_id_due = steps.own_id;
            return Ok(Led::NoRow(batch));
        };
        for (outcome, sets) in outcomes.iter_mut().zip(&set_last_insert_id) {
            if *sets && is_id_uncertain(outcome) {
                *outcome = Outcome::NotWritten;
            }
        }
        let mut own = Outcome::NotWritten;
        let mut told_all = Vec::new();
        for (index, outcome) in outcomes.into_iter().enumerate() {
            // Only the leader was killed.
            let told = match &outcome {
                Outcome::Failed(answer) if is_the_leaders(&answer.payload) => Outcome::NotWritten,
                other => other.clone(),
            };
            if leaders == Some(index) {
                own = outcome;
            }
            let is_itself = !matches!(steps.sent[index], Sent::Sum(_));
            let is_idle = is_itself && changes_nothing(&told);
            let others = std::mem::take(&mut steps.others[index]);
            let told = match told {
                // What has changed the row is the first one's.
                Outcome::Committed(_) if is_itself && !is_idle => {
                    let others = others.into_iter().map(Outcome::Committed);
                    Told::InTurn([told].into_iter().chain(others).collect())
                }
                told => Told::All(told),
            };
            told_all.push((told, is_idle));
        }
        let told = told_all.iter().map(|(told, _)| told);
        self.count_batch(batch.parts()[0].steps_of_table().zip(told));
        for (index, (told, is_idle)) in told_all.into_iter().enumerate() {
            batch.settle((0, index), told, is_idle);
        }
        drop(batch);
        // Statements of other sessions have set it.
        self.state.last_insert_id_due = steps.own_id.or(self.state.last_insert_id_due);
        Ok(Led::Done(own))
    }

    /// What is sent for a step.
    fn sent(&self, part: &Part, step: &Step) -> Sent {
        let (text, shape) = match step.work() {
            Work::Sum(sum) => return Sent::Sum(Texts::of_base(part.table(), sum)),
            Work::Itself { text, shape, .. } => (Arc::clone(text), *shape),
        };
        let is_asked = self.shared.leaves_messages(shape);
        let others = u32::try_from(step.count() - 1).unwrap_or(u32::MAX);
        match step.repeated().filter(|_| others > 0) {
            Some(repeated) => Sent::Repeated {
                text,
                shape,
                is_asked,
                repeated: repeated.clone(),
                others,
            },
            None => Sent::Itself {
                text,
                shape,
                is_asked,
            },
        }
    }

    /// Runs the statements in one transaction, and commits it. Returns `None` if there is no such row.
    async fn write_steps(
        &mut self,
        steps: &mut Steps,
        batch: &Batch,
    ) -> Result<Option<Vec<Outcome>>, Error> {
        let part = &batch.parts()[0];
        let leaders = part.leaders_step();
        if let [Sent::Itself { text, .. }] = &steps.sent[..] {
            batch.send();
            return Ok(Some(vec![self.write_step(text).await?]));
        }
        let is_one_kind = steps.need_no_lock(part);
        let end = match is_one_kind {
            // It locks the row, or makes it.
            true => self.begin(steps).await?,
            false => self.begin_and_lock(part).await?,
        };
        match end {
            None => {
                if !is_one_kind {
                    // A deadlock would end the transaction, and what is sent behind it be committed by itself.
                    batch.send();
                }
                self.run_steps(steps).await?;
                self.run_repeats(steps).await?;
                if part.table().is_keyless() && steps.end.is_none() {
                    // Under READ COMMITTED another row may have been inserted, and written, since the first one was
                    // locked.
                    let end = self.lock_again(part).await?;
                    steps.end = end.map(|end| (steps.sent.len(), end));
                }
            }
            Some(end) => steps.end = Some((0, end)),
        }
        let (at, end) = match steps.end.take() {
            None => {
                batch.send();
                return match self.run_internal(COMMIT).await? {
                    InternalResponse::Err(error) => {
                        self.roll_back_own().await?;
                        Ok(Some(steps.outcomes(|_, ran| match ran {
                            Ran::Written(_) => failed(error.clone()),
                            _ => Outcome::NotWritten,
                        })))
                    }
                    _ => Ok(Some(steps.outcomes(|_, ran| match ran {
                        Ran::Written(answer) => Outcome::Committed(answer),
                        Ran::Failed(answer) => Outcome::Failed(answer),
                        Ran::WrittenAlone(_) | Ran::Not => Outcome::NotWritten,
                    }))),
                };
            }
            Some(end) => end,
        };
        self.roll_back_own().await?;
        for &shape in &steps.unasked {
            self.shared.learn_messages(shape);
        }
        for &shape in &steps.one_by_one {
            self.shared.learn_one_by_one(shape);
        }
        match end {
            End::NoRow => return Ok(None),
            End::SeveralRows => {
                for step in part.steps() {
                    self.shared.learn_several_rows(step.work().shape());
                }
            }
            _ => {}
        }
        Ok(Some(steps.outcomes(|index, _| match &end {
            End::Error(error) | End::NotLocked(error) if is_the_leaders(error) => {
                match leaders == Some(index) {
                    true => Outcome::Failed(error.clone().into()),
                    false => Outcome::NotWritten,
                }
            }
            // All of them have waited for the row.
            End::NotLocked(error) => failed(error.clone()),
            End::Error(error) if index == at => failed(error.clone()),
            _ => Outcome::NotWritten,
        })))
    }

    /// Runs a statement that stands for several. It is a transaction of its own.
    async fn write_step(&mut self, text: &[u8]) -> Result<Outcome, Error> {
        let response = self.run_internal(text).await?;
        Ok(match response {
            InternalResponse::Ok(ok) => {
                let messages = match OkPacket::decode(&ok)?.warnings {
                    0 => None,
                    _ => self.take_messages().await?,
                };
                Outcome::Committed(Answer {
                    messages: messages.map(Into::into),
                    ..ok.into()
                })
            }
            InternalResponse::Err(error) if is_of_the_statement(&error) => {
                let messages = self.take_messages().await?;
                Outcome::Failed(refused(error, messages))
            }
            InternalResponse::Err(error) if is_the_leaders(&error) => Outcome::Failed(error.into()),
            InternalResponse::Err(error) => failed(error),
            InternalResponse::Row(_) => return Err(Malformed.into()),
        })
    }

    /// Opens a transaction. Returns why that has failed.
    async fn begin(&mut self, steps: &mut Steps) -> Result<Option<End>, Error> {
        let mut out = Vec::new();
        let sets_id = steps.sent.iter().any(Sent::sets_last_insert_id);
        let keeps_id = sets_id && steps.own_id.is_none();
        if keeps_id {
            encode_query(&mut out, OWN_ID, self.link.capabilities);
        }
        encode_query(&mut out, BEGIN.as_bytes(), self.link.capabilities);
        self.write_upstream(&out).await?;
        if keeps_id {
            steps.own_id = id_in(&self.read_internal().await?);
        }
        let begun = self.read_internal().await?;
        Ok(match begun {
            InternalResponse::Err(error) => Some(End::Error(error)),
            // It was killed when it asked.
            _ if keeps_id && steps.own_id.is_none() => Some(End::Closed),
            _ => None,
        })
    }

    /// Opens a transaction, and locks the row in it. Whatever the statements do to the row, nobody else comes between
    /// them then, nor is there a shared lock that would have to become an exclusive one. Returns why that has failed.
    async fn begin_and_lock(&mut self, part: &Part) -> Result<Option<End>, Error> {
        let mut out = Vec::new();
        encode_query(&mut out, BEGIN.as_bytes(), self.link.capabilities);
        encode_query(&mut out, &lock(part), self.link.capabilities);
        self.write_upstream(&out).await?;
        let begun = self.read_internal().await?;
        let locked = self.read_lock().await?;
        Ok(match begun {
            InternalResponse::Err(error) => Some(End::Error(error)),
            _ => locked,
        })
    }

    /// Locks the row again: whether it is still the only one.
    async fn lock_again(&mut self, part: &Part) -> Result<Option<End>, Error> {
        self.write_query(&lock(part)).await?;
        self.read_lock().await
    }

    /// Reads the response to [`lock`]. Returns why the row is not locked.
    async fn read_lock(&mut self) -> Result<Option<End>, Error> {
        Ok(match self.read_internal_rows(2).await? {
            Err(error) => {
                if is_command_denied(&error) {
                    // It may write the row, but not lock it.
                    self.state.combining = Combining::Alone;
                }
                Some(End::NotLocked(error))
            }
            Ok(rows) => match rows.len() {
                // Without a row there is nothing to lock but the gap, which others lock as well.
                0 => Some(End::NoRow),
                1 => None,
                _ => Some(End::SeveralRows),
            },
        })
    }

    /// Runs the statements in the open transaction.
    async fn run_steps(&mut self, steps: &mut Steps) -> Result<(), Error> {
        let capabilities = self.link.capabilities;
        let mut next = 0;
        while next < steps.sent.len() && steps.end.is_none() {
            let now = next..steps.sent.len().min(next + AT_ONCE);
            let mut out = Vec::new();
            for sent in &steps.sent[now.clone()] {
                if let Some(text) = sent.text() {
                    encode_query(&mut out, text, capabilities);
                }
                if sent.is_asked() {
                    encode_query(&mut out, SHOW_WARNINGS, capabilities);
                }
            }
            // A response at the end that says whether the transaction is open. An ERR does not.
            encode_query(&mut out, b"DO 0", capabilities);
            self.write_upstream(&out).await?;
            for index in now.clone() {
                if steps.sent[index].text().is_some() {
                    let response = self.read_internal().await?;
                    let messages = match steps.sent[index].is_asked() {
                        true => self.read_messages().await?,
                        false => None,
                    };
                    steps.take(index, response, messages, self)?;
                }
            }
            let is_open = match self.read_internal().await? {
                InternalResponse::Ok(ok) => is_in_transaction(&ok),
                _ => false,
            };
            if !is_open && steps.end.is_none() {
                steps.end = Some((now.end, End::Closed));
            }
            next = now.end;
        }
        Ok(())
    }
}

/// The query that locks the row.
fn lock(part: &Part) -> Vec<u8> {
    let (before, behind) = sql::lock_around(part.table());
    [
        before.as_bytes(),
        &part.slot_row().predicate,
        behind.as_bytes(),
    ]
    .concat()
}

/// Asks for what LAST_INSERT_ID() returns.
const OWN_ID: &[u8] = b"SELECT LAST_INSERT_ID() LIMIT 1";

/// The answer to [`OWN_ID`].
fn id_in(answer: &InternalResponse) -> Option<u64> {
    let InternalResponse::Row(row) = answer else {
        return None;
    };
    std::str::from_utf8(row.first()?.as_deref()?)
        .ok()?
        .parse()
        .ok()
}

/// The answer to a statement that has failed for itself. The error is raised again where it is the only message.
fn refused(error: Vec<u8>, messages: Option<Vec<Message>>) -> Answer {
    let are_several = |messages: &Vec<Message>| {
        let rows = messages.iter().filter(|(kind, _)| *kind == PacketKind::Row);
        rows.count() > 1
    };
    Answer {
        messages: messages.filter(are_several).map(Into::into),
        ..error.into()
    }
}

/// Whether the account lacks the right.
pub(super) fn is_command_denied(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| lacks_privilege(err.code))
}

/// Whether a response does not say if LAST_INSERT_ID(..) was evaluated, and to what: an OK that reports neither a
/// value nor a change, or an ERR. The statement may run once more, then.
fn is_id_uncertain(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Committed(answer) => OkPacket::decode(&answer.payload)
            .is_ok_and(|ok| ok.affected_rows == 0 && ok.last_insert_id == 0),
        Outcome::Failed(answer) => is_of_the_statement(&answer.payload),
        Outcome::NotWritten | Outcome::Lost => false,
    }
}

impl Sent {
    /// `None`: the sum is too large to be added at once.
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Sum(texts) => texts.update.as_deref(),
            Self::Itself { text, .. } | Self::Repeated { text, .. } => Some(text),
        }
    }

    fn sets_last_insert_id(&self) -> bool {
        matches!(self, Self::Repeated { repeated, .. } if repeated.row.sets_last_insert_id)
    }

    fn is_asked(&self) -> bool {
        matches!(
            self,
            Self::Itself { is_asked: true, .. } | Self::Repeated { is_asked: true, .. }
        )
    }

    /// The OK for the client whose statement has got this one; `None` if a sum has found no row.
    fn answer(&self, mut ok: Vec<u8>, session: &Session) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Sum(texts) if !texts.has_written(&ok)? => Ok(None),
            Self::Sum(texts) => {
                let (capabilities, language) = (session.link.capabilities, session.state.info());
                texts.answer(ok, capabilities, language).map(Some)
            }
            Self::Itself { .. } | Self::Repeated { .. } => {
                patch_status(&mut ok, status::IN_TRANS | status::IN_TRANS_READONLY, 0);
                Ok(Some(ok))
            }
        }
    }
}

impl Steps {
    /// Whether the first statement locks the row, or makes it, as well as a lock would.
    fn need_no_lock(&self, part: &Part) -> bool {
        matches!(self.sent[..], [Sent::Repeated { .. }]) && !part.table().is_keyless()
    }

    /// Takes in the response to a statement.
    fn take(
        &mut self,
        index: usize,
        response: InternalResponse,
        messages: Option<Vec<Message>>,
        session: &Session,
    ) -> Result<(), Error> {
        let mut end = None;
        let ran = match response {
            InternalResponse::Ok(ok) => {
                let in_transaction = is_in_transaction(&ok);
                let warnings = OkPacket::decode(&ok)?.warnings;
                match &self.sent[index] {
                    Sent::Itself { shape, .. } | Sent::Repeated { shape, .. }
                        if warnings > 0 && messages.is_none() =>
                    {
                        self.unasked.push(*shape);
                        end = Some(End::Unasked);
                    }
                    _ if !in_transaction => end = Some(End::Closed),
                    _ => {}
                }
                let answer = self.sent[index].answer(ok, session)?.map(|ok| Answer {
                    messages: messages.filter(|_| warnings > 0).map(Into::into),
                    ..ok.into()
                });
                match answer {
                    Some(answer) if in_transaction => Ran::Written(answer),
                    Some(answer) => Ran::WrittenAlone(answer),
                    None => Ran::Not,
                }
            }
            InternalResponse::Err(error) if is_of_the_statement(&error) => {
                if let (Sent::Itself { shape, .. } | Sent::Repeated { shape, .. }, None) =
                    (&self.sent[index], &messages)
                {
                    self.unasked.push(*shape);
                    end = Some(End::Unasked);
                }
                Ran::Failed(refused(error, messages))
            }
            InternalResponse::Err(error) => {
                end = Some(End::Error(error));
                Ran::Not
            }
            InternalResponse::Row(_) => return Err(Malformed.into()),
        };
        if self.end.is_none() || matches!(ran, Ran::WrittenAlone(_)) {
            self.ran[index] = ran;
        }
        self.end = self.end.take().or(end.map(|end| (index, end)));
        Ok(())
    }

    /// The OK of a statement that has run in the open transaction.
    pub(super) fn written(&self, index: usize) -> Option<&Answer> {
        match &self.ran[index] {
            Ran::Written(answer) => Some(answer),
            _ => None,
        }
    }

    /// The outcome of each statement. What was committed by itself is, whatever has become of the transaction.
    fn outcomes(&mut self, outcome_of: impl Fn(usize, Ran) -> Outcome) -> Vec<Outcome> {
        let ran = std::mem::take(&mut self.ran).into_iter().enumerate();
        let outcomes = ran.map(|(index, ran)| match ran {
            Ran::WrittenAlone(answer) => Outcome::Committed(answer),
            ran => outcome_of(index, ran),
        });
        outcomes.collect()
    }
}
