//! What a client of a load does, statement by statement.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::measured::Measured;
use super::window::{When, Window};
use super::{Error, Keys, Statement};
use crate::lent::{Account, Connection, ServerError};
use countersink_server_errors::{ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT};

/// The statements of a load.
#[derive(Clone, Debug)]
pub struct Job {
    pub increment: Statement,
    pub reads: Option<Reads>,
    /// Run each increment in a transaction of its own, rather than in autocommit.
    pub transaction: Option<Transaction>,
    pub keys: Keys,
    /// Number of slots to choose from, for increments that name a slot.
    pub slots: u16,
}

/// Reads among the increments.
#[derive(Clone, Debug)]
pub struct Reads {
    pub statement: Statement,
    /// Their share of all statements, up to 1.
    pub share: f64,
}

/// BEGIN, the increment, the client's own work, COMMIT.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// How long the client's own work takes, while the transaction is open.
    pub think: Duration,
}

impl Job {
    /// A job of this statement only.
    pub fn only(increment: &str) -> Self {
        Self {
            increment: Statement::new(increment),
            reads: None,
            transaction: None,
            keys: Keys::One(1),
            slots: 1,
        }
    }
}

/// One client of a load.
pub(super) struct Worker<'a, A: Account> {
    pub connection: A::Connection,
    pub account: &'a A,
    pub job: &'a Job,
    /// Number of the client, from 1.
    pub number: u64,
    /// Where it records its results, together with other clients.
    pub tally: &'a Mutex<Measured>,
    pub window: &'a Window,
}

impl<A: Account> Worker<'_, A> {
    /// Runs the job until the window is over, and waits for the last response.
    pub async fn run(mut self) -> Result<(), Error> {
        // The seed is arbitrary, but the same in each turn.
        let mut random = SmallRng::seed_from_u64(self.number);
        let mut text = Vec::with_capacity(256);
        let mut sent = Instant::now();
        let mut is_first = true;
        while self.window.when(sent) != When::After {
            let key = self.job.keys.draw(self.number, &mut random);
            let read = match &self.job.reads {
                Some(reads) if random.random_bool(reads.share) => Some(&reads.statement),
                _ => None,
            };
            let statement = read.unwrap_or(&self.job.increment);
            let slot = match statement.has_slot() {
                true => random.random_range(0..self.job.slots),
                false => 0,
            };
            statement.write(key, slot, &mut text);
            let open = match read {
                Some(_) => None,
                None => self.job.transaction.as_ref(),
            };
            while let Some(error) = self.attempt(&text, open).await? {
                self.again(error, || statement.text(key, slot))?;
                if self.window.when(Instant::now()) == When::After {
                    return self.leave().await;
                }
            }
            let answered = Instant::now();
            self.answered(read.is_some(), answered - sent, self.window.when(answered));
            if std::mem::take(&mut is_first) {
                self.window.at_work();
            }
            sent = answered;
        }
        self.leave().await
    }

    async fn leave(self) -> Result<(), Error> {
        self.connection.quit().await;
        Ok(())
    }

    /// Sends the statement once, in a transaction or by itself.
    async fn attempt(
        &mut self,
        statement: &[u8],
        transaction: Option<&Transaction>,
    ) -> Result<Option<ServerError>, Error> {
        match transaction {
            Some(transaction) => self.transact(transaction, statement).await,
            None => self.refusal(statement).await,
        }
    }

    /// Runs one transaction. It is rolled back if one of its statements fails.
    async fn transact(
        &mut self,
        transaction: &Transaction,
        increment: &[u8],
    ) -> Result<Option<ServerError>, Error> {
        let mut refused = self.refusal(b"BEGIN").await?;
        if refused.is_none() {
            refused = self.refusal(increment).await?;
        }
        if refused.is_none() {
            if !transaction.think.is_zero() {
                tokio::time::sleep(transaction.think).await;
            }
            refused = self.refusal(b"COMMIT").await?;
        }
        if refused.is_some() {
            self.refusal(b"ROLLBACK").await?;
        }
        Ok(refused)
    }

    async fn refusal(&mut self, statement: &[u8]) -> Result<Option<ServerError>, Error> {
        let answered = self.connection.run(statement).await;
        answered.map_err(|source| Error::lost(self.account, source))
    }

    fn answered(&self, is_read: bool, latency: Duration, when: When) {
        let mut tally = self.tally.lock().expect("nobody panics with it");
        tally.answered(is_read, latency, when);
    }

    /// Counts a failure after which the statement can be sent again. Any other failure ends the load.
    fn again(&self, error: ServerError, statement: impl Fn() -> String) -> Result<(), Error> {
        let mut tally = self.tally.lock().expect("nobody panics with it");
        match error.code {
            ER_LOCK_DEADLOCK => tally.deadlocks += 1,
            ER_LOCK_WAIT_TIMEOUT => tally.timeouts += 1,
            _ => {
                return Err(Error::Refused {
                    address: self.account.address(),
                    statement: statement(),
                    source: error,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lent::{Answer, Lost};
    use std::collections::VecDeque;
    use std::io;
    use std::net::SocketAddr;
    use std::sync::Arc;

    /// A server that responds with OK (0) or these errors, and then closes the connection.
    #[derive(Clone, Default)]
    struct Scripted {
        answers: Arc<Mutex<VecDeque<u16>>>,
        heard: Arc<Mutex<Vec<String>>>,
    }

    impl Account for Scripted {
        type Connection = Self;

        fn address(&self) -> String {
            "unix:socket".to_owned()
        }

        fn at(&self, _: SocketAddr) -> Self {
            self.clone()
        }

        fn in_schema(&self, _: &str) -> Self {
            self.clone()
        }

        async fn connect(&self) -> Result<Self, Lost> {
            Ok(self.clone())
        }
    }

    impl Connection for Scripted {
        async fn run(&mut self, statement: &[u8]) -> Result<Option<ServerError>, Lost> {
            let statement = String::from_utf8_lossy(statement).into_owned();
            self.heard.lock().expect("a list").push(statement);
            let answer = self.answers.lock().expect("a list").pop_front();
            match answer {
                Some(0) => Ok(None),
                Some(code) => Ok(Some(ServerError {
                    code,
                    message: "no".to_owned(),
                })),
                None => Err(Lost::Write(io::ErrorKind::ConnectionReset.into())),
            }
        }

        async fn query(&mut self, _: &str) -> Result<Answer, Lost> {
            Ok(Answer::Rows(Vec::new()))
        }

        async fn quit(self) {}
    }

    /// What a client sends and records when it gets these responses.
    async fn played(job: &Job, answers: &[u16]) -> (Vec<String>, Measured, Error) {
        let server = Scripted::default();
        server.answers.lock().expect("a list").extend(answers);
        let tally = Mutex::new(Measured::nothing());
        let worker = Worker {
            connection: server.clone(),
            account: &server,
            job,
            number: 1,
            tally: &tally,
            window: &Window::new(Duration::from_secs(600), 1),
        };
        let error = worker.run().await.expect_err("the server leaves first");
        let heard = std::mem::take(&mut *server.heard.lock().expect("a list"));
        (heard, tally.into_inner().expect("nobody panicked"), error)
    }

    #[tokio::test]
    async fn a_deadlock_and_a_timeout_are_counted_and_the_statement_is_sent_again() {
        let job = Job::only("UPDATE t");
        let (heard, measured, _) = played(&job, &[1213, 1205, 0]).await;
        assert_eq!(heard, ["UPDATE t"; 4]);
        assert_eq!((measured.deadlocks, measured.timeouts), (1, 1));
        assert_eq!(measured.acknowledged(), 1);
    }

    #[tokio::test]
    async fn a_transaction_is_rolled_back_and_sent_again_whole() {
        let job = Job {
            transaction: Some(Transaction {
                think: Duration::ZERO,
            }),
            ..Job::only("UPDATE t")
        };
        let (heard, measured, _) = played(&job, &[0, 1205, 0, 0, 0, 0]).await;
        assert_eq!(
            heard,
            [
                "BEGIN", "UPDATE t", "ROLLBACK", "BEGIN", "UPDATE t", "COMMIT", "BEGIN"
            ]
        );
        assert_eq!((measured.timeouts, measured.acknowledged()), (1, 1));
    }

    #[tokio::test]
    async fn any_other_refusal_ends_the_load_and_is_not_counted() {
        let (heard, measured, error) = played(&Job::only("UPDATE t"), &[0, 1690]).await;
        assert_eq!(heard[..2], ["UPDATE t", "UPDATE t"]);
        assert_eq!(measured.acknowledged(), 1);
        let text = error.to_string();
        assert_eq!(text, "`UPDATE t` at unix:socket failed: ERROR 1690: no");
    }
}
