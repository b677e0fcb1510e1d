"""What lint.sh does once it has Helm and the schemas."""

import sys
import tempfile
from pathlib import Path

import helm_python
import kubernetes_validate
import yaml

HERE = Path(__file__).resolve().parent
CHART = HERE / "chart"
# `sleep` in preStop is on by default from 1.30 on, and so are sidecars.
OLDEST = (1, 30)

SECRET = {"password": {"value": "secret"}}
VALUES = {
    "a password": SECRET,
    "a Secret that is there already": {"password": {"existingSecret": "shop-passwords", "key": "countersink"}},
    "nothing optional": {**SECRET, "podDisruptionBudget": {"enabled": False}, "podAnnotations": {}, "resources": {}},
    "everything": {
        **SECRET,
        "image": {"repository": "images.example/countersink", "tag": "1", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "images"}],
        "replicas": 3,
        "service": {"type": "LoadBalancer", "port": 3306, "annotations": {"example/internal": "true"}},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "databases", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "env": [{"name": "COUNTERSINK_LOG_FORMAT", "value": "json"}],
        "volumes": [{"name": "tls", "secret": {"secretName": "countersink-tls"}}],
        "volumeMounts": [{"name": "tls", "mountPath": "/etc/countersink-tls", "readOnly": True}],
    },
}
REFUSED = {
    "no password": {},
    "a misspelt key": {**SECRET, "replica": 1},
    "an address that is the chart's own": {**SECRET, "rules": {"listen": "127.0.0.1:6033"}},
    "a mode that YAML takes for a boolean": {
        **SECRET,
        "rules": {"counters": [{"table": "shop.posts", "columns": ["views"], "mode": False}]},
    },
    "no counters": {**SECRET, "rules": {"counters": []}},
}

faults = []


def fault(what):
    faults.append(what)
    print(f"FAULT {what}")


def versions():
    """Those of Kubernetes whose schemas are there."""
    known = {tuple(map(int, version.split("."))) for version in kubernetes_validate.utils.all_versions()}
    return [".".join(map(str, version)) for version in sorted(known) if version >= OLDEST]


def hold_against_schemas(name, text):
    objects = [one for one in yaml.safe_load_all(text) if one is not None]
    for one in objects:
        for version in versions():
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                fault(f"{name}: {one['kind']} in {version}: {'.'.join(map(str, error.path))}: {error.message}")
    return [one["kind"] for one in objects]


def main():
    print(f"Helm {helm_python.helm_sdk_version()}, Kubernetes {', '.join(versions())}")
    # A schema that is never asked would find nothing either.
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dta": {}}
    try:
        kubernetes_validate.validate(probe, versions()[-1], strict=True)
        fault("a misspelt field passes")
    except kubernetes_validate.ValidationError:
        pass

    for name in ("deployment.yaml", "sidecar.yaml"):
        kinds = hold_against_schemas(name, (HERE / name).read_text())
        print(f"{name}: {', '.join(kinds)}")

    for what, values in VALUES.items():
        report = helm_python.lint(CHART, values, strict=True, kube_version="v1.30.0")
        messages = [f"{one['path']}: {one['error']}" for one in report["messages"] if one["severity"] > 1]
        for message in [*messages, *report["errors"]]:
            fault(f"chart with {what}: {message}")
        kinds = []
        with helm_python.Chart.load(CHART) as chart:
            chart.validate_schema(values)
            for template, text in chart.render(values, name="shop", namespace="web").items():
                if template.endswith(".yaml"):
                    kinds += hold_against_schemas(f"chart with {what}: {template}", text)
        print(f"chart with {what}: {', '.join(kinds)}")

    for what, values in REFUSED.items():
        with helm_python.Chart.load(CHART) as chart:
            try:
                chart.validate_schema(chart.merge_values(values))
                chart.render(values, name="shop", namespace="web")
                fault(f"the chart takes {what}")
            except helm_python.HelmError as error:
                print(f"refused, as it should be: {what}: {str(error).splitlines()[-1].strip()}")

    with helm_python.Chart.load(CHART) as chart, tempfile.TemporaryDirectory() as folder:
        print(f"packed: {Path(chart.save(folder)).name}")

    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
