//! Writes of one row of a table without slots, which may share a transaction with others of that row.

use std::sync::Arc;

use crate::counter::SlotRow;
use crate::counter::combine::{CombineKey, Member, Repeated, Work};
use crate::session::Session;
use crate::session::act::candidate::Candidate;
use crate::session::act::invocation::{Form, Invocation};
use crate::session::act::key_text::in_one_text;
use crate::session::error::Error;
use crate::session::reply::Replied;
use crate::sql::plan::{OneRow, Reason};
use crate::sql::template::{Filling, Template};
use crate::wire::execute::Value;

impl Session {
    /// Writes one row, together with other sessions that do so now.
    pub(crate) async fn write_one_row(
        &mut self,
        row: &Arc<OneRow>,
        invocation: Invocation<'_>,
    ) -> Result<Replied, Error> {
        let Invocation {
            original, context, ..
        } = invocation;
        if self.state.in_transaction() {
            self.count(Reason::OnBase);
            return self.run_original(original, context).await;
        }
        self.count(Reason::Batched);
        if let Some(member) = self.member(row, &invocation)
            && let Some(group) = self.group(true).await?
        {
            let candidate = Candidate {
                member,
                slotting: None,
                original,
                context,
            };
            if let Some(done) = self.combine(&group, &candidate).await? {
                return Ok(done);
            }
        }
        self.run_original(original, context).await
    }

    /// The statement as a member of a batch. `None` if another session could not run it as this one does.
    fn member(&self, row: &Arc<OneRow>, invocation: &Invocation<'_>) -> Option<Member> {
        let arguments = &invocation.arguments;
        let literals = arguments.literals().unwrap_or_default();
        let names_one_key = row.key_parameters.iter().all(|key| {
            let literal = literals.get(usize::from(key.parameter));
            literal.is_some_and(|literal| key.is_one_key(literal))
        });
        names_one_key.then_some(())?;
        let rendered = |template: &Template| {
            let filling = Filling {
                parameters: literals,
                ..Filling::default()
            };
            let mut text = Vec::new();
            template.render(&filling, &mut text);
            text
        };
        let text = match &invocation.form {
            Form::Text(text) | Form::Shape(text, _) => text.to_vec(),
            Form::Using(..) | Form::Execution(_) => {
                let are_plain = arguments.are_known()
                    && arguments.values().iter().all(|value| {
                        matches!(value, Value::Null | Value::Integer(_) | Value::Text(_))
                    });
                are_plain.then(|| rendered(&row.text))?
            }
        };
        let key = in_one_text(&rendered(&row.key), &row.table).into_owned();
        Some(Member {
            key: Arc::new(CombineKey::of_base(SlotRow::of_base(key))),
            table: Arc::clone(&row.table),
            work: Work::Itself {
                text: text.into(),
                shape: row.shape,
                sets_last_insert_id: row.sets_last_insert_id,
                repeated: row.repeat.as_ref().and_then(|repeat| {
                    Some(Repeated {
                        row: Arc::clone(row),
                        amounts: repeat.amounts(literals)?,
                        parameters: literals.to_vec(),
                    })
                }),
            },
            span: None,
        })
    }
}
