//! Captured statements, sent again.

use countersink::driver::{Driver, Reply};
use countersink::reason::Reason;
use countersink::wire::command;
use countersink::wire::reader::put_lenenc_bytes;
use countersink::wire::response::{PacketKind, PrepareOk, ResponseKind};
use countersink_sandbox::{Address, Flavour};

use crate::orm::golden::{self, Increment, KINDS, Library, Parameter};
use crate::support::client::{connect, rows, run, run_all};
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

/// The fewest libraries that the file must have, lest it be emptied unseen.
const FEWEST: usize = 12;

/// Each library's statements have the plan of their capture, and both servers hold the same at the end.
pub async fn all(flavour: Flavour) {
    let libraries = golden::read();
    assert!(libraries.len() >= FEWEST, "{} libraries", libraries.len());
    let twin = twin(flavour);
    for server in [&twin.plain, &twin.proxied] {
        let mut client = connect(server, None).await;
        for library in &libraries {
            run_all(&mut client, &library.setup()).await;
        }
    }
    let rules: String = libraries.iter().map(Library::rule).collect();
    let proxy = Proxy::start(&twin.proxied, &format!("counters:\n{rules}"));
    proxy.arrives("enforced").await;
    let mut wrong = Vec::new();
    for library in &libraries {
        wrong.extend(one(library, &twin.plain, &proxy, &twin.proxied).await);
    }
    assert!(
        wrong.is_empty(),
        "on {}:\n{}",
        twin.version,
        wrong.join("\n")
    );
}

/// Plays one library's increments; what went wrong.
async fn one(library: &Library, plain: &Address, proxy: &Proxy, behind: &Address) -> Vec<String> {
    let schema = library.schema();
    let table = format!("SELECT * FROM {schema}.posts ORDER BY id");
    let mut direct = connect(plain, Some(&schema)).await;
    let mut proxied = connect(&proxy.address, Some(&schema)).await;
    for set in &library.session {
        run(&mut direct, set).await;
        run(&mut proxied, set).await;
    }
    let mut past = connect(behind, None).await;
    let mut wrong = Vec::new();
    for increment in &library.increments {
        let base = rows(&mut past, &table).await;
        let slotted = || {
            let counted = proxy.shared.metrics.statements();
            counted.get(&Reason::Slotted).copied().unwrap_or(0)
        };
        let before = slotted();
        let (expected, got) = (
            play(&mut direct, increment).await,
            play(&mut proxied, increment).await,
        );
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                let Increment { statement, .. } = increment;
                wrong.push(format!("{}: {what}: {statement}", library.library));
            }
        };
        expect(expected == got, "another answer than MySQL's");
        let is_slotted = slotted() == before + 1;
        expect(
            is_slotted == (increment.plan == "Slotted"),
            "not as captured",
        );
        let (expected, got) = (
            rows(&mut direct, &table).await,
            rows(&mut proxied, &table).await,
        );
        expect(
            expected == got,
            &format!("{got:?} rather than {expected:?}"),
        );
        if is_slotted {
            expect(base == rows(&mut past, &table).await, "base has changed");
            expect(base != got, "nothing has changed");
        }
    }
    wrong
}

/// Sends one at the time of its capture; the rows affected.
async fn play(client: &mut Driver, increment: &Increment) -> Result<u64, String> {
    run(client, &format!("SET timestamp = {}", increment.at)).await;
    let Some(parameters) = &increment.parameters else {
        return match client.query(&increment.statement).await {
            Ok(Reply::Ok(affected)) => Ok(affected),
            other => Err(format!("{other:?}")),
        };
    };
    let text = increment.statement.as_bytes();
    let prepared = ask(
        client,
        &[&[command::STMT_PREPARE], text].concat(),
        ResponseKind::Prepared,
    )
    .await?;
    let id = PrepareOk::decode(&prepared)
        .map_err(|error| error.to_string())?
        .statement_id;
    let executed = ask(client, &execution(id, parameters), ResponseKind::Results).await?;
    let ok = countersink::wire::reply::Ok::decode(&executed).map_err(|error| error.to_string())?;
    Ok(ok.affected_rows)
}

/// Sends a command; the first packet of its answer unless it is an ERR.
async fn ask(
    client: &mut Driver,
    payload: &[u8],
    response_kind: ResponseKind,
) -> Result<Vec<u8>, String> {
    client
        .send(payload)
        .await
        .map_err(|error| error.to_string())?;
    let packets = client
        .packets(response_kind)
        .await
        .map_err(|error| error.to_string())?;
    match packets.into_iter().next() {
        Some(packet) if packet.packet_kind != PacketKind::Err => Ok(packet.payload),
        other => Err(format!("{other:?}")),
    }
}

/// COM_STMT_EXECUTE.
fn execution(id: u32, parameters: &[Parameter]) -> Vec<u8> {
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.extend_from_slice(&[0, 1, 0, 0, 0]);
    if parameters.is_empty() {
        return payload;
    }
    payload.extend(vec![0; parameters.len().div_ceil(8)]);
    payload.push(1);
    for parameter in parameters {
        let unsigned = parameter.kind.ends_with(" UNSIGNED");
        payload.extend_from_slice(&[code(parameter), if unsigned { 0x80 } else { 0 }]);
    }
    for parameter in parameters {
        encode(parameter, &mut payload);
    }
    payload
}

fn code(parameter: &Parameter) -> u8 {
    let name = parameter.kind.trim_end_matches(" UNSIGNED");
    let found = KINDS.iter().find(|(kind, _)| *kind == name);
    found.unwrap_or_else(|| panic!("no type {name}")).1
}

fn encode(parameter: &Parameter, payload: &mut Vec<u8>) {
    let text = parameter.value.as_str();
    let integer = || text.parse::<u64>().expect("an integer").to_le_bytes();
    match parameter.kind.trim_end_matches(" UNSIGNED") {
        "TINY" => payload.extend_from_slice(&integer()[..1]),
        "SHORT" => payload.extend_from_slice(&integer()[..2]),
        "LONG" => payload.extend_from_slice(&integer()[..4]),
        "LONGLONG" => payload.extend_from_slice(&integer()),
        "DOUBLE" => {
            let number: f64 = text.parse().expect("a number");
            payload.extend_from_slice(&number.to_le_bytes());
        }
        "DATETIME" | "TIMESTAMP" => {
            let part = |range: std::ops::Range<usize>| text[range].parse::<u32>().expect("digits");
            let year = u16::try_from(part(0..4)).expect("four digits");
            payload.push(11);
            payload.extend_from_slice(&year.to_le_bytes());
            for start in [5, 8, 11, 14, 17] {
                payload.push(u8::try_from(part(start..start + 2)).expect("two digits"));
            }
            payload.extend_from_slice(&part(20..26).to_le_bytes());
        }
        _ => put_lenenc_bytes(payload, text.as_bytes()),
    }
}
