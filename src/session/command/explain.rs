//! EXPLAIN FORMAT=COUNTERSINK: what this session would do with a statement now. Nothing of it is run.

use std::sync::Arc;

use crate::explain::{Explanation, Keys, Situation, explain};
use crate::reason::Reason;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::plan::Found;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::transaction;
use crate::session::text::kind_of;
use crate::sql::plan::{Plan, SessionVariables};
use crate::sql::{self, Decision, Kind};
use crate::wire::result_set::TextResult;
use crate::wire::status;

/// The columns of the result set.
const COLUMNS: [&str; 3] = ["part", "when", "text"];

/// Whether a statement is EXPLAIN FORMAT=COUNTERSINK. How its text is quoted makes no difference to that.
pub(crate) fn asks_to_explain(text: &[u8], kind: Kind) -> bool {
    kind == Kind::Show && sql::explained(text, &SessionVariables::default()).is_some()
}

impl Session {
    /// Runs one statement as the server reads it, or explains it. An explanation uses the plan of the statement's own
    /// text, which a plan shared by its shape comes to as well.
    pub(crate) async fn statement_or_explanation(
        &mut self,
        text: &[u8],
        original: &Original,
        context: ReplyContext,
        found: Option<Found>,
    ) -> Result<Replied, Error> {
        if asks_to_explain(text, kind_of(text)) {
            return Box::pin(self.explain(text, context)).await;
        }
        let text = &*self.executed(text).await?;
        self.statement(text, original, context, found).await
    }

    /// Runs EXPLAIN FORMAT=COUNTERSINK.
    async fn explain(&mut self, text: &[u8], context: ReplyContext) -> Result<Replied, Error> {
        self.count(Reason::Explained);
        self.settle_doubt().await?;
        let variables = self.variables().await?.unwrap_or_default();
        let statement = sql::explained(text, &variables).unwrap_or_default();
        let statement = &*self.executed(statement).await?;
        let plan = self.plan_to_explain(statement).await?;
        let decision = match &plan {
            Ok(plan) => self.decision_in_force(plan, statement),
            Err(reason) => Decision::Forward(*reason),
        };
        let rows = self.state.transaction.rows();
        let settled: Vec<_> = rows.settled.iter().map(|(keys, _)| keys.clone()).collect();
        let keys = |list: &[transaction::Keys]| {
            let keys = list.iter().map(|keys| Keys {
                table: Arc::clone(&keys.table),
                predicate: keys.predicate.clone(),
            });
            keys.collect()
        };
        let situation = Situation {
            in_transaction: self.state.in_transaction(),
            safe_updates: variables.safe_updates,
            locks_gaps: self.locks_gaps(),
            incremented: keys(&[&rows.incremented[..], &rows.written].concat()),
            settled: keys(&settled),
            folded: keys(&rows.folded),
        };
        self.send_explanation(&explain(&decision, &situation), context)
            .await
    }

    /// The plan of a statement, or why it passes without one.
    async fn plan_to_explain(&mut self, text: &[u8]) -> Result<Result<Arc<Plan>, Reason>, Error> {
        let kind = kind_of(text);
        if self.state.mode.bypass {
            return Ok(Err(Reason::Off));
        }
        if !self.is_hot(text, kind) {
            return Ok(Err(Reason::NotHot));
        }
        Ok(Ok(match kind {
            Kind::Execute => self.plan_of_execute(text).await?,
            _ => self.plan(text).await?,
        }))
    }

    async fn send_explanation(
        &mut self,
        explanation: &Explanation,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let lines = explanation.lines();
        let rows = lines
            .iter()
            .map(|line| vec![line.part.name(), line.when.as_str(), line.text.as_str()]);
        let result = TextResult {
            columns: &COLUMNS,
            rows: rows.collect(),
        };
        let kept = status::IN_TRANS
            | status::IN_TRANS_READONLY
            | status::AUTOCOMMIT
            | status::NO_BACKSLASH_ESCAPES;
        let status = self.state.last.status & kept | context.rewrite().set_status;
        let mut out = Vec::new();
        let sequence_id = result.encode(
            &mut out,
            context.sequence_id,
            status,
            self.link.capabilities,
        );
        self.link.client.write(&out).await.map_err(Error::client)?;
        Ok(Replied {
            sequence_id,
            failed: false,
        })
    }
}
