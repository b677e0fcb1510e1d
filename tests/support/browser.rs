//! A headless Chromium, spoken to over its DevTools protocol
//! (<https://chromedevtools.github.io/devtools-protocol/>). Its end of the pipe is its standard input and output, so
//! that it needs no port and ends when the test does.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::binary::PATIENCE;

/// How long a page may take to become what is waited for.
const WAIT: Duration = Duration::from_secs(40);

/// The names that distributions give it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

const MISSING: &str = "the tests of the dashboard need Chromium on the PATH: apt-get install chromium (dnf install \
     chromium, brew install chromium)";

/// Messages end with a NUL on file descriptors 3 and 4.
const SCRIPT: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// A running browser; it ends when dropped.
pub struct Browser {
    child: Child,
    /// None when it is to end.
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    last_id: u64,
    folder: TempDir,
}

/// A page in it. What it complains of is gathered.
pub struct Page {
    browser: Browser,
    session: String,
    complaints: Vec<String>,
}

impl Browser {
    /// Starts it with a profile of its own.
    pub fn start() -> Self {
        let name = NAMES
            .into_iter()
            .find(|name| is_there(name))
            .expect(MISSING);
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", name]).args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-gpu",
            "--hide-scrollbars",
        ]);
        command.arg(format!("--user-data-dir={}", folder.path().display()));
        if rustix::process::getuid().is_root() {
            command.arg("--no-sandbox"); // which it refuses to have for root
        }
        let said = File::create(folder.path().join("said")).expect("a file");
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn();
        let mut child = spawned.expect("sh runs");
        let output = child.stdout.take().expect("piped");
        let (say, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut message = Vec::new();
            while output
                .read_until(0, &mut message)
                .is_ok_and(|length| length > 0)
            {
                message.pop();
                let read = serde_json::from_slice(&message).expect("JSON");
                // The test may have ended.
                say.send(read).ok();
                message.clear();
            }
        });
        Self {
            commands: child.stdin.take(),
            child,
            messages,
            last_id: 0,
            folder,
        }
    }

    /// An empty page.
    pub fn page(mut self) -> Page {
        let target = self.call(
            "",
            "Target.createTarget",
            json!({"url": "about:blank"}),
            &mut |_| {},
        );
        let attached = self.call(
            "",
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
            &mut |_| {},
        );
        let session = attached["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned();
        let mut page = Page {
            browser: self,
            session,
            complaints: Vec::new(),
        };
        for domain in ["Page", "Runtime", "Log"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page
    }

    /// Calls a method and gives its result; what comes meanwhile is an event.
    fn call(
        &mut self,
        session: &str,
        method: &str,
        parameters: Value,
        event: &mut dyn FnMut(&Value),
    ) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if !session.is_empty() {
            command["sessionId"] = session.into();
        }
        let commands = self.commands.as_mut().expect("it runs");
        let sent = commands.write_all(format!("{command}\0").as_bytes());
        if sent.is_err() {
            self.give_up(method);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = match self.messages.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {
                    self.give_up(method)
                }
            };
            if message["id"] != self.last_id {
                event(&message);
                continue;
            }
            assert!(message["error"].is_null(), "{method}: {message}");
            return message["result"].clone();
        }
    }

    fn give_up(&self, method: &str) -> ! {
        let said = fs::read_to_string(self.folder.path().join("said")).unwrap_or_default();
        panic!("Chromium does not answer to {method}; it said\n{said}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends with its pipe, and is not left over if it does not.
        drop(self.commands.take());
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Page {
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let complaints = &mut self.complaints;
        let mut event = |message: &Value| complaints.extend(complaint(message));
        self.browser
            .call(&self.session, method, parameters, &mut event)
    }

    /// The size of what is seen, in pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// What the system prefers: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Goes there.
    pub fn open(&mut self, url: &str) {
        let gone = self.call("Page.navigate", json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.wait_for("document.readyState === 'complete'");
    }

    /// The value of an expression, or of what it promises.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let evaluated = self.call("Runtime.evaluate", asked);
        let exception = &evaluated["exceptionDetails"];
        assert!(exception.is_null(), "{expression}: {exception}");
        evaluated["result"]["value"].clone()
    }

    /// The value of an expression that is a text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let waiting = format!(
            "new Promise(done => {{ const end = performance.now() + {}; const look = () => {{ \
             const is = {expression}; \
             if (is || performance.now() > end) done(Boolean(is)); else setTimeout(look, 20); }}; look(); }})",
            WAIT.as_millis()
        );
        let asked = json!({"expression": waiting, "awaitPromise": true, "returnByValue": true});
        let deadline = Instant::now() + PATIENCE;
        // A page that is left takes its promises with it.
        loop {
            let complaints = &mut self.complaints;
            let mut event = |message: &Value| complaints.extend(complaint(message));
            let browser = &mut self.browser;
            let done = browser.call(&self.session, "Runtime.evaluate", asked.clone(), &mut event);
            if done["result"]["value"] == true {
                return;
            }
            let is_false = done["result"]["value"] == false;
            assert!(
                !is_false && Instant::now() < deadline,
                "{expression}: {done}"
            );
        }
    }

    /// Presses a key, by its name (`Tab`, `Enter`), and lets go of it.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowRight" => 39,
            other => panic!("no code for {other}"),
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Errors and warnings of the console, exceptions, and what the security policy has refused.
    pub fn complaints(&mut self) -> Vec<String> {
        // Events that were on their way come before this answer.
        self.evaluate("0");
        std::mem::take(&mut self.complaints)
    }

    /// Writes what is seen, from the top to the end, as PNG.
    pub fn capture(&mut self, file: &Path) {
        let asked = json!({"format": "png", "captureBeyondViewport": false});
        let captured = self.call("Page.captureScreenshot", asked);
        let data = captured["data"].as_str().expect("a picture");
        fs::write(file, STANDARD.decode(data).expect("base64")).expect("a file");
    }
}

fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    let is_bad = |level: &Value| matches!(level.as_str(), Some("error" | "warning" | "assert"));
    let is_complaint = match event["method"].as_str()? {
        "Runtime.exceptionThrown" => true,
        "Runtime.consoleAPICalled" => is_bad(&parameters["type"]),
        "Log.entryAdded" => is_bad(&parameters["entry"]["level"]),
        _ => false,
    };
    is_complaint.then(|| parameters.to_string())
}
