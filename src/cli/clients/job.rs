//! What a client of a load does, statement after statement.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::measured::Measured;
use super::window::{When, Window};
use super::{Account, Error, Keys, Statement};
use crate::driver::{Driver, ServerError, query_packet};
use crate::wire::answer::Form;
use crate::wire::error_code::{ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT};

/// A load's statements.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Job {
    pub increment: Statement,
    pub reads: Option<Reads>,
    /// Increments are each in a transaction of its own, rather than in autocommit.
    pub transaction: Option<Transaction>,
    pub keys: Keys,
    /// How many slots the increments name.
    pub slots: u16,
}

/// Reads among the increments.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Reads {
    pub statement: Statement,
    /// Their share of all statements, up to 1.
    pub share: f64,
}

/// BEGIN, the increment, the client's own work, COMMIT.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Transaction {
    /// How long the client's own work takes, while the transaction is open.
    pub think: Duration,
    begin: Vec<u8>,
    commit: Vec<u8>,
    rollback: Vec<u8>,
}

impl Transaction {
    pub fn new(think: Duration) -> Self {
        Self {
            think,
            begin: query_packet("BEGIN"),
            commit: query_packet("COMMIT"),
            rollback: query_packet("ROLLBACK"),
        }
    }
}

impl Job {
    /// Nothing but this statement.
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
pub(super) struct Worker<'a> {
    pub driver: Driver,
    pub account: &'a Account,
    pub job: &'a Job,
    /// From 1.
    pub number: u64,
    /// Where it writes down what it did, with others.
    pub tally: &'a Mutex<Measured>,
    pub window: &'a Window,
}

impl Worker<'_> {
    /// Works until the window is over, and then waits for the last answer.
    pub async fn run(mut self) -> Result<(), Error> {
        // Any other numbers would do; these are the same ones in each turn.
        let mut random = SmallRng::seed_from_u64(self.number);
        let mut packet = Vec::with_capacity(256);
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
            statement.write_packet(key, slot, &mut packet);
            let open = match read {
                Some(_) => None,
                None => self.job.transaction.as_ref(),
            };
            while let Some(error) = self.attempt(&packet, open).await? {
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
        // It is the last word, whether it is heard or not.
        self.driver.quit().await.ok();
        Ok(())
    }

    /// Sends the statement once, in a transaction or by itself.
    async fn attempt(
        &mut self,
        packet: &[u8],
        transaction: Option<&Transaction>,
    ) -> Result<Option<ServerError>, Error> {
        match transaction {
            Some(transaction) => self.transact(transaction, packet).await,
            None => self.refusal(packet).await,
        }
    }

    /// One transaction; rolled back when one of its statements is refused.
    async fn transact(
        &mut self,
        transaction: &Transaction,
        increment: &[u8],
    ) -> Result<Option<ServerError>, Error> {
        let mut refused = self.refusal(&transaction.begin).await?;
        if refused.is_none() {
            refused = self.refusal(increment).await?;
        }
        if refused.is_none() {
            if !transaction.think.is_zero() {
                tokio::time::sleep(transaction.think).await;
            }
            refused = self.refusal(&transaction.commit).await?;
        }
        if refused.is_some() {
            self.refusal(&transaction.rollback).await?;
        }
        Ok(refused)
    }

    async fn refusal(&mut self, packet: &[u8]) -> Result<Option<ServerError>, Error> {
        let answered = self.driver.refusal(packet, Form::Results).await;
        answered.map_err(|source| self.account.lost(source))
    }

    fn answered(&self, is_read: bool, latency: Duration, when: When) {
        let mut tally = self.tally.lock().expect("nobody panics with it");
        tally.answered(is_read, latency, when);
    }

    /// Counts a failure that may come again; any other ends the load.
    fn again(&self, error: ServerError, statement: impl Fn() -> String) -> Result<(), Error> {
        let mut tally = self.tally.lock().expect("nobody panics with it");
        match error.code {
            ER_LOCK_DEADLOCK => tally.deadlocks += 1,
            ER_LOCK_WAIT_TIMEOUT => tally.timeouts += 1,
            _ => {
                return Err(Error::Refused {
                    address: self.account.address.to_string(),
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
    use crate::config::{Address, Secret};
    use crate::driver::Login;
    use crate::net::PacketStream;
    use crate::wire::packet::encode_packet;
    use std::path::PathBuf;

    /// MariaDB 10.11.18's, captured.
    const GREETING: &[u8] = b"\n5.5.5-10.11.18-MariaDB-0+deb12u1-log\0\x0e\0\0\0yI=79Z9O\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0_r>|v\\K@AeWe\0mysql_native_password\0";
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    /// What a client sends and what it writes down when it is answered by OK (0) or these errors, and then left.
    async fn played(job: &Job, answers: &[u16]) -> (Vec<String>, Measured, Error) {
        let (near, far) = tokio::io::duplex(4096);
        let server = async {
            let mut stream = PacketStream::new(Box::new(far));
            let (mut payload, mut heard, mut packet) = (Vec::new(), Vec::new(), Vec::new());
            encode_packet(&mut packet, 0, GREETING);
            stream.write(&packet).await.expect("a client");
            stream
                .read_payload(&mut payload, 4096)
                .await
                .expect("a login");
            for (answer, sequence_id) in std::iter::once(&0)
                .chain(answers)
                .zip([2].into_iter().chain([1; 99]))
            {
                packet.clear();
                match answer {
                    0 => encode_packet(&mut packet, sequence_id, OK),
                    code => {
                        let error = [&[0xFF], &code.to_le_bytes()[..], b"#HY000no"].concat();
                        encode_packet(&mut packet, sequence_id, &error)
                    }
                };
                stream.write(&packet).await.expect("a client");
                if stream.read_payload(&mut payload, 4096).await.is_ok() {
                    heard.push(String::from_utf8_lossy(&payload[1..]).into_owned());
                }
            }
            heard
        };
        let account = Account {
            address: Address::Unix(PathBuf::from("socket")),
            user: "root".to_owned(),
            password: Secret::default(),
            schema: None,
        };
        let tally = Mutex::new(Measured::nothing());
        let window = Window::new(Duration::from_secs(600), 1);
        let client = async {
            let login = Login::new("root", "");
            let driver = Driver::connect(Box::new(near), &login).await;
            let worker = Worker {
                driver: driver.expect("a login"),
                account: &account,
                job,
                number: 1,
                tally: &tally,
                window: &window,
            };
            worker.run().await
        };
        let (heard, ended) = tokio::join!(server, client);
        let error = ended.expect_err("the server leaves first");
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
            transaction: Some(Transaction::new(Duration::ZERO)),
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
