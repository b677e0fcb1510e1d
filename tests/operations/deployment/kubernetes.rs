//! Manifests and the chart: their arguments, ports, paths and times fit the program.

use std::time::Duration;

use countersink::config::{Config, Mode};
use serde_json::Value;

use super::{read, rules, takes};

/// The roll-up at the end, and some to spare, beside `drain_timeout` and `preStop`.
const LAST_ROLL_UP: Duration = Duration::from_secs(5);

/// Those of a manifest by their kinds.
struct Objects(Vec<Value>);

impl Objects {
    fn of(file: &str) -> Self {
        let text = read(&format!("docker/kubernetes/{file}"));
        Self(serde_saphyr::from_multiple(&text).expect("YAML"))
    }

    fn of_kind(&self, kind: &str) -> &Value {
        let mut objects = self.0.iter();
        objects
            .find(|object| object["kind"] == kind)
            .unwrap_or_else(|| panic!("no {kind}"))
    }

    fn pod(&self) -> &Value {
        &self.of_kind("Deployment")["spec"]["template"]["spec"]
    }

    fn rules(&self) -> Config {
        let text = &self.of_kind("ConfigMap")["data"]["rules.yaml"];
        rules(text.as_str().expect("rules"))
    }
}

fn texts(values: &Value) -> Vec<&str> {
    let values = values.as_array().expect("a list").iter();
    values
        .map(|value| value.as_str().expect("a text"))
        .collect()
}

/// The port of a container by its name.
fn port(container: &Value, name: &str) -> Option<u16> {
    let ports = container["ports"].as_array().expect("ports");
    let port = ports.iter().find(|port| port["name"] == name)?;
    port["containerPort"].as_u64()?.try_into().ok()
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs(value.as_u64().expect("seconds"))
}

/// What holds wherever the proxy runs.
fn fits(objects: &Objects, container: &Value) {
    let arguments = texts(&container["args"]);
    takes(&arguments);
    let rules = objects.rules();
    assert!(rules.rules.iter().all(|rule| rule.mode == Mode::Observe));

    // Probes come to the pod's address, not to the loopback one.
    let http = rules.http.expect("probes ask there").to_string();
    assert_eq!(
        http,
        format!("0.0.0.0:{}", port(container, "http").expect("a port"))
    );
    let paths = ["startupProbe", "livenessProbe", "readinessProbe"].map(|probe| {
        let asked = &container[probe]["httpGet"];
        assert!(asked.is_null() || asked["port"] == "http", "{probe}");
        asked["path"].as_str()
    });
    assert_eq!(paths[1], Some("/healthz"));
    assert!(paths[0].or(paths[2]) == Some("/readyz"), "{paths:?}");

    // The rules are in a folder that is mounted, of a ConfigMap that is there.
    let file = arguments.last().expect("the rules");
    let (folder, name) = file.rsplit_once('/').expect("a folder");
    let mounts = container["volumeMounts"].as_array().expect("mounts");
    let mount = mounts
        .iter()
        .find(|mount| mount["mountPath"] == folder)
        .expect("a mount");
    assert!(mount["subPath"].is_null(), "it would not follow changes");
    let volumes = objects.pod()["volumes"].as_array().expect("volumes");
    let volume = volumes
        .iter()
        .find(|volume| volume["name"] == mount["name"])
        .expect("a volume");
    let map = objects.of_kind("ConfigMap");
    assert_eq!(volume["configMap"]["name"], map["metadata"]["name"]);
    assert!(map["data"][name].is_string());
    // Where the rest of the file system is read-only.
    assert!(mounts.iter().any(|mount| mount["mountPath"] == "/tmp"));
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);

    let environment = container["env"].as_array().expect("env");
    assert!(
        environment
            .iter()
            .any(|one| one["name"] == "COUNTERSINK_PASSWORD")
    );
    let stop = &container["lifecycle"]["preStop"]["sleep"]["seconds"];
    let stop = if stop.is_null() {
        Duration::ZERO
    } else {
        seconds(stop)
    };
    let given = seconds(&objects.pod()["terminationGracePeriodSeconds"]);
    assert!(
        given >= stop + rules.drain_timeout + LAST_ROLL_UP,
        "{given:?}"
    );
}

/// The user of a container, by its number, is that of the image.
fn runs_as_the_image_says(context: &Value) {
    let user = format!("USER {}:{}", context["runAsUser"], context["runAsGroup"]);
    assert!(
        read("docker/Dockerfile").lines().any(|line| line == user),
        "{user}"
    );
    assert_eq!(context["runAsNonRoot"], true);
}

#[test]
fn the_deployment_fits_the_program() {
    let objects = Objects::of("deployment.yaml");
    let container = &objects.pod()["containers"][0];
    fits(&objects, container);
    runs_as_the_image_says(&objects.pod()["securityContext"]);
    let listen = objects.rules().listen.to_string();
    assert_eq!(
        listen,
        format!("0.0.0.0:{}", port(container, "mysql").expect("a port"))
    );
    let service = &objects.of_kind("Service")["spec"];
    assert_eq!(service["ports"][0]["targetPort"], "mysql");
    let labels = &objects.of_kind("Deployment")["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&service["selector"], labels);
    let budget = &objects.of_kind("PodDisruptionBudget")["spec"];
    assert_eq!(&budget["selector"]["matchLabels"], labels);
}

#[test]
fn the_sidecar_fits_the_program() {
    let objects = Objects::of("sidecar.yaml");
    let container = &objects.pod()["initContainers"][0];
    assert_eq!(container["restartPolicy"], "Always");
    fits(&objects, container);
    runs_as_the_image_says(&container["securityContext"]);
    // The application beside it connects to where it listens, and nobody else can.
    let variables = objects.pod()["containers"][0]["env"]
        .as_array()
        .expect("env");
    let value = |name: &str| {
        let variable = variables.iter().find(|variable| variable["name"] == name);
        variable
            .and_then(|variable| variable["value"].as_str())
            .expect("a value")
    };
    let address = format!("{}:{}", value("DATABASE_HOST"), value("DATABASE_PORT"));
    assert_eq!(address, objects.rules().listen.to_string());
    assert!(address.starts_with("127.0.0.1:"));
}

/// `docker/kubernetes/lint.sh` renders the chart by Helm. Here its values are held to the program, and its templates to
/// the manifest that is tested above.
#[test]
fn the_chart_fits_the_program() {
    let values: Value =
        serde_saphyr::from_str(&read("docker/kubernetes/chart/values.yaml")).expect("YAML");
    let text = serde_saphyr::to_string(&values["rules"]).expect("YAML");
    let rules = rules(&text);
    assert!(rules.rules.iter().all(|rule| rule.mode == Mode::Observe));
    let given = seconds(&values["terminationGracePeriodSeconds"]);
    let stop = seconds(&values["preStopSeconds"]);
    assert!(
        given >= stop + rules.drain_timeout + LAST_ROLL_UP,
        "{given:?}"
    );

    let objects = Objects::of("deployment.yaml");
    let template = read("docker/kubernetes/chart/templates/deployment.yaml");
    let container = &objects.pod()["containers"][0];
    let arguments = texts(&container["args"]).join(", ");
    assert!(
        template.contains(&format!("args: [{arguments}]\n")),
        "{arguments}"
    );
    for name in ["mysql", "http"] {
        let port = port(container, name).expect("a port");
        let declared = format!("- name: {name}\n              containerPort: {port}\n");
        assert!(template.contains(&declared), "{declared}");
    }
    let map = read("docker/kubernetes/chart/templates/configmap.yaml");
    let own = objects.rules();
    let http = own.http.expect("probes ask there");
    let addresses = format!(r#"(dict "listen" "{}" "http" "{http}")"#, own.listen);
    assert!(map.contains(&addresses), "{addresses}");
    for line in [
        "runAsUser: 10001",
        "runAsGroup: 10001",
        "readOnlyRootFilesystem: true",
        "mountPath: /tmp",
    ] {
        assert!(template.contains(line), "{line}");
    }
}
