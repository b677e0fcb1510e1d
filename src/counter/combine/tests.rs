use super::*;
use crate::sql::plan::Plan;

fn slot_row(id: u32) -> SlotRow {
    SlotRow {
        predicate: id.to_string().into_bytes(),
        ..SlotRow::default()
    }
}

/// An increment of `views` in row `id` by `amount`.
fn addition(id: u32, amount: i128) -> Member {
    let text = format!("UPDATE posts SET views = views + 1 WHERE id = {id}");
    let Plan::Increment(increment) = crate::sql::planned_in_fixture(&text) else {
        panic!("{text} is an increment");
    };
    Member {
        key: Arc::new(CombineKey {
            shape: Some(increment.shape),
            times: increment.times.clone(),
            slot_row: slot_row(id),
        }),
        table: Arc::clone(&increment.table),
        work: Work::Sum(Addition {
            increment,
            parameters: Vec::new(),
            amounts: vec![Amount::from(amount)],
        }),
        span: None,
    }
}

/// The same in a table without slots.
fn addition_to_base(id: u32, amount: i128) -> Member {
    Member {
        key: Arc::new(CombineKey::of_base(slot_row(id))),
        ..addition(id, amount)
    }
}

/// Another statement of row `id` there.
fn statement(id: u32, text: &str) -> Member {
    Member {
        work: Work::Itself {
            text: text.as_bytes().into(),
            shape: 0,
            sets_last_insert_id: false,
            repeated: None,
        },
        ..addition_to_base(id, 0)
    }
}

/// The same, of which one statement does what several do.
fn repeatable(id: u32, text: &str) -> Member {
    let plan = crate::sql::planned_in_fixture(
        "UPDATE tallies SET views = views - 1 WHERE id = 1 AND views >= 1",
    );
    let Plan::Batch(row) = plan else {
        panic!("it is a write of one row");
    };
    let mut member = statement(id, text);
    if let Work::Itself { repeated, .. } = &mut member.work {
        *repeated = Some(Repeated {
            row,
            parameters: Vec::new(),
            amounts: vec![Amount::from(-1)],
        });
    }
    member
}

/// What the steps of a part run, each with the number of its sessions.
fn shown(part: &Part) -> Vec<(String, usize)> {
    let steps = part.steps().iter().map(|step| {
        let work = match step.work() {
            Work::Sum(sum) => sum.amounts[0].to_string(),
            Work::Itself { text, .. } => String::from_utf8_lossy(text).into_owned(),
        };
        (work, step.count())
    });
    steps.collect()
}

fn owned(steps: &[(&str, usize)]) -> Vec<(String, usize)> {
    let steps = steps.iter();
    steps
        .map(|(work, count)| ((*work).to_owned(), *count))
        .collect()
}

fn group() -> Arc<Group> {
    Arc::default()
}

fn lead(entered: Entered) -> Batch {
    match entered {
        Entered::Lead(batch) => batch,
        Entered::Wait(_) => panic!("it goes at once"),
    }
}

fn wait(entered: Entered) -> oneshot::Receiver<Call> {
    match entered {
        Entered::Wait(called) => called,
        Entered::Lead(_) => panic!("it waits"),
    }
}

fn called_to_lead(called: &mut oneshot::Receiver<Call>) -> Batch {
    match called.try_recv() {
        Ok(Call::Lead(batch)) => batch,
        other => panic!("it is called to lead, not {other:?}"),
    }
}

fn told(called: &mut oneshot::Receiver<Call>) -> Outcome {
    match called.try_recv() {
        Ok(Call::Done(outcome, _)) => outcome,
        other => panic!("it is told, not {other:?}"),
    }
}

fn committed() -> Outcome {
    Outcome::Committed(b"ok".to_vec().into())
}

#[test]
fn who_comes_while_a_key_is_in_flight_is_added_up() {
    let group = group();
    let first = lead(group.enter(addition(1, 1), true));
    assert!(first.is_single());
    let mut second = wait(group.enter(addition(1, 2), true));
    let mut third = wait(group.enter(addition(1, 5), true));
    assert!(
        second.try_recv().is_err(),
        "nobody is called before it lands"
    );
    drop(first);

    let mut batch = called_to_lead(&mut second);
    let [part] = batch.parts() else {
        panic!("one key: {batch:?}");
    };
    assert_eq!(shown(part), owned(&[("+ 7", 2)]));
    assert!(part.is_leaders());
    batch.send();
    batch.settle((0, 0), Told::All(committed()), false);
    drop(batch);
    assert!(matches!(told(&mut third), Outcome::Committed(_)));
    assert!(
        lead(group.enter(addition(1, 1), true)).is_single(),
        "the key is idle again"
    );
}

#[test]
fn other_keys_go_at_once_while_lanes_are_free_and_together_when_none_is() {
    let group = group();
    let one = lead(group.enter(addition(1, 1), true));
    let two = lead(group.enter(addition(2, 1), true));
    let mut three = wait(group.enter(addition(3, 1), true));
    let mut four = wait(group.enter(addition(4, 1), true));
    drop(one);
    let batch = called_to_lead(&mut three);
    assert_eq!(batch.parts().len(), 2, "both keys that wait");
    drop(two);
    assert!(four.try_recv().is_err(), "it is in the batch");
    drop(batch);
    assert!(
        matches!(told(&mut four), Outcome::NotWritten),
        "nothing was sent"
    );
}

#[test]
fn a_slot_row_that_is_not_known_needs_no_lane() {
    let group = group();
    let known: Vec<_> = (0..2)
        .map(|id| lead(group.enter(addition(id, 1), true)))
        .collect();
    let unknown = lead(group.enter(addition(7, 1), false));
    drop((known, unknown));
}

#[test]
fn a_batch_whose_connection_is_lost_leaves_its_sessions_in_doubt() {
    let group = group();
    let first = lead(group.enter(addition(1, 1), true));
    let mut second = wait(group.enter(addition(1, 1), true));
    let mut third = wait(group.enter(addition(1, 1), true));
    drop(first);
    let batch = called_to_lead(&mut second);
    batch.send();
    drop(batch);
    assert!(matches!(told(&mut third), Outcome::Lost));
}

#[test]
fn a_session_that_has_gone_is_not_called() {
    let group = group();
    let first = lead(group.enter(addition(1, 1), true));
    let second = wait(group.enter(addition(1, 1), true));
    let mut third = wait(group.enter(addition(1, 1), true));
    drop(second);
    drop(first);
    let batch = called_to_lead(&mut third);
    assert!(batch.parts()[0].is_leaders());
}

#[test]
fn a_leader_that_goes_before_it_is_called_leaves_nobody_waiting() {
    let group = group();
    let first = lead(group.enter(addition(1, 1), true));
    let second = wait(group.enter(addition(1, 1), true));
    let mut third = wait(group.enter(addition(1, 1), true));
    drop(first);
    // The call is in its channel, and nobody reads it.
    drop(second);
    assert!(matches!(told(&mut third), Outcome::NotWritten));
    assert!(lead(group.enter(addition(1, 1), true)).is_single());
}

#[test]
fn a_lane_is_given_back_once() {
    let group = group();
    let one = lead(group.enter(addition(1, 1), true));
    let two = lead(group.enter(addition(2, 1), true));
    let mut three = wait(group.enter(addition(3, 1), true));
    one.give_lane_back();
    let three = called_to_lead(&mut three);
    one.give_lane_back();
    drop(one);
    let mut four = wait(group.enter(addition(4, 1), true));
    drop(two);
    drop(three);
    drop(called_to_lead(&mut four));
}

#[test]
fn parts_that_cannot_share_a_transaction_go_by_themselves() {
    let group = group();
    let lanes = [1, 2].map(|id| lead(group.enter(addition(id, 1), true)));
    let mut waiting = [3, 4, 5].map(|id| wait(group.enter(addition(id, 1), true)));
    drop(lanes);
    let mut batch = called_to_lead(&mut waiting[0]);
    batch.split(|part| *part.slot_row() != slot_row(4));
    assert_eq!(batch.parts().len(), 2);
    let alone = called_to_lead(&mut waiting[1]);
    assert!(alone.is_single());

    drop((batch, alone));
    let lanes = [1, 2].map(|id| lead(group.enter(addition(id, 1), true)));
    let mut waiting = [3, 4, 5].map(|id| wait(group.enter(addition(id, 1), true)));
    drop(lanes);
    let mut batch = called_to_lead(&mut waiting[0]);
    // The leader's own is the one that cannot.
    batch.split(|part| *part.slot_row() != slot_row(3));
    assert!(batch.is_single());
    assert_eq!(called_to_lead(&mut waiting[1]).parts().len(), 2);
}

#[test]
fn statements_of_a_row_without_slots_are_steps_of_one_part() {
    let group = group();
    let first = lead(group.enter(statement(1, "SET 5"), false));
    let members = [
        addition_to_base(1, 1),
        statement(1, "SET 6"),
        addition_to_base(1, 2),
        statement(1, "SET 6"),
    ];
    let mut waiting = members.map(|member| wait(group.enter(member, false)));
    let other = lead(group.enter(statement(2, "SET 5"), false));
    drop((first, other));
    let mut batch = called_to_lead(&mut waiting[0]);
    let steps = owned(&[("+ 3", 2), ("SET 6", 1), ("SET 6", 1)]);
    assert_eq!(shown(&batch.parts()[0]), steps);
    assert_eq!(batch.parts()[0].leaders_step(), Some(0));
    batch.settle((0, 0), Told::All(committed()), false);
    batch.settle((0, 1), Told::InTurn(vec![committed()]), false);
    drop(batch);
    assert!(matches!(told(&mut waiting[1]), Outcome::Committed(_)));
    assert!(matches!(told(&mut waiting[2]), Outcome::Committed(_)));
    assert!(matches!(told(&mut waiting[3]), Outcome::NotWritten));
}

/// Runs a statement that changes nothing, while four more of it wait; the batch of these.
fn sold_out() -> (Batch, [oneshot::Receiver<Call>; 4]) {
    let group = group();
    let mut first = lead(group.enter(statement(1, "BUY"), false));
    let mut waiting = [(); 4].map(|()| wait(group.enter(statement(1, "BUY"), false)));
    first.settle((0, 0), Told::All(committed()), true);
    drop(first);
    let batch = called_to_lead(&mut waiting[0]);
    assert_eq!(shown(&batch.parts()[0]), owned(&[("BUY", 4)]));
    (batch, waiting)
}

#[test]
fn a_statement_that_changes_nothing_answers_all_that_are_like_it() {
    let (mut batch, mut waiting) = sold_out();
    batch.settle((0, 0), Told::All(committed()), true);
    drop(batch);
    for called in &mut waiting[1..] {
        assert!(matches!(told(called), Outcome::Committed(_)));
    }
}

#[test]
fn a_statement_that_changes_something_after_all_is_the_leaders_alone() {
    let (mut batch, mut waiting) = sold_out();
    batch.settle((0, 0), Told::InTurn(vec![committed()]), false);
    drop(batch);
    for called in &mut waiting[1..] {
        assert!(matches!(told(called), Outcome::NotWritten));
    }
}

#[test]
fn a_statement_that_changes_something_after_all_is_the_first_ones_where_the_leader_has_another() {
    let group = group();
    let mut first = lead(group.enter(statement(1, "BUY"), false));
    let mut leader = wait(group.enter(statement(1, "SET 5"), false));
    let mut waiting = [(); 3].map(|()| wait(group.enter(statement(1, "BUY"), false)));
    first.settle((0, 0), Told::All(committed()), true);
    drop(first);
    let mut batch = called_to_lead(&mut leader);
    batch.settle((0, 1), Told::InTurn(vec![committed()]), false);
    drop(batch);
    let told = waiting.each_mut().map(told);
    assert!(matches!(
        told,
        [
            Outcome::Committed(_),
            Outcome::NotWritten,
            Outcome::NotWritten
        ]
    ));
}

#[test]
fn statements_that_can_be_repeated_are_one_step() {
    let group = group();
    let first = lead(group.enter(statement(1, "SET 5"), false));
    let mut waiting = [(); 4].map(|()| wait(group.enter(repeatable(1, "BUY"), false)));
    let mut other = wait(group.enter(repeatable(1, "BUY 2"), false));
    waiting[2].close();
    drop(first);
    let mut batch = called_to_lead(&mut waiting[0]);
    assert_eq!(
        shown(&batch.parts()[0]),
        owned(&[("BUY", 3), ("BUY 2", 1)]),
        "one has gone"
    );
    let told_in_turn = Told::InTurn(vec![committed(), committed()]);
    assert_eq!(told_in_turn.committed(3), 2);
    batch.settle((0, 0), told_in_turn, false);
    batch.settle((0, 1), Told::All(committed()), true);
    drop(batch);
    assert!(matches!(told(&mut waiting[1]), Outcome::Committed(_)));
    assert!(matches!(told(&mut waiting[3]), Outcome::NotWritten));
    assert!(matches!(told(&mut other), Outcome::Committed(_)));
}

#[test]
fn statements_of_sessions_that_have_gone_are_not_run() {
    let group = group();
    let first = lead(group.enter(statement(1, "SET 5"), false));
    let gone = wait(group.enter(statement(1, "SET 6"), false));
    let mut stays = wait(group.enter(statement(1, "SET 7"), false));
    drop(gone);
    drop(first);
    let batch = called_to_lead(&mut stays);
    assert_eq!(shown(&batch.parts()[0]), owned(&[("SET 7", 1)]));
}

#[test]
fn groups_are_there_as_long_as_they_are_held() {
    let groups = Groups::default();
    let name = |schema: &str| GroupName {
        server: None,
        variables: vec![Some(schema.as_bytes().to_vec())],
        capabilities: 0,
    };
    let shop = groups.group(name("shop"));
    assert!(Arc::ptr_eq(&shop, &groups.group(name("shop"))));
    assert!(!Arc::ptr_eq(&shop, &groups.group(name("blog"))));
    drop(shop);
    drop(groups.group(name("news")));
    assert_eq!(super::super::unpoisoned(&groups.groups).len(), 1);
}
