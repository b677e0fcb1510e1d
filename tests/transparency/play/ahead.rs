//! Statements that are sent before others are answered: all of a pipeline, or on several connections at once.

use countersink::driver::Packet;
use countersink::wire::packet::encode_packet;
use countersink::wire::response::ResponseKind;

use super::Player;
use crate::difference::Exchange;

impl Player<'_> {
    /// A text to each of so many connections of their own, so often, then all answers, in an order that does not tell
    /// who was first.
    pub(super) async fn at_once(&mut self, connections: usize, times: usize, texts: &[String]) {
        let current = std::mem::take(&mut self.current);
        for number in 0..connections {
            self.current = format!("at once {number}");
            self.connection().await;
        }
        for number in 0..connections {
            self.current = format!("at once {number}");
            let text = self.world.expand(&texts[number % texts.len()]);
            let mut bytes = Vec::new();
            for _ in 0..times {
                encode_packet(&mut bytes, 0, &self.query_payload(&text));
            }
            let connection = self.connection().await;
            connection.lost |= connection.driver.send_raw(&bytes).await.is_err();
        }
        let mut answers = Vec::new();
        for number in 0..connections {
            self.current = format!("at once {number}");
            for _ in 0..times {
                let answer = self.connection().await.read(ResponseKind::Results).await;
                let bytes = |packets: &Vec<Packet>| {
                    let payloads = packets.iter().map(|packet| packet.payload.clone());
                    payloads.collect::<Vec<_>>()
                };
                // Of equal texts any may be the first.
                let text = &texts[number % texts.len()];
                let first = texts.iter().position(|other| other == text);
                answers.push((
                    first.expect("it is one of them"),
                    answer.as_ref().map(bytes).ok(),
                    answer,
                ));
            }
        }
        answers.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
        for (text, _, answer) in answers {
            self.exchanges.push(Exchange {
                label: texts[text].clone(),
                request: "at once",
                answer,
                masked: false,
                binary: Vec::new(),
                statement_id: None,
            });
        }
        self.current = current;
    }

    /// All packets in one write, then all answers.
    pub(super) async fn run_pipeline(&mut self) {
        let texts = self.pipeline.take().unwrap_or_default();
        self.connection().await;
        let mut bytes = Vec::new();
        for text in &texts {
            encode_packet(&mut bytes, 0, &self.query_payload(text));
        }
        let connection = self.connection().await;
        if connection.lost {
            return;
        }
        let sent = connection.driver.send_raw(&bytes).await;
        sent.unwrap_or_else(|error| panic!("{error}"));
        for text in texts {
            let answer = self.connection().await.read(ResponseKind::Results).await;
            self.exchanges.push(Exchange {
                label: text,
                request: "pipelined",
                answer,
                masked: false,
                binary: Vec::new(),
                statement_id: None,
            });
        }
    }
}
