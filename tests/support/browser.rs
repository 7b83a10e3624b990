//! A browser of the tests' own: Debian's Chromium without a window, driven by its chromedriver, gone with the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::prelude::*;
use tokio::runtime::Runtime;

/// For what a page is to show; a busy machine may be slow.
const SHOWN_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// axe-core, of `tests/node`.
const AXE: &str = "../tests/node/node_modules/axe-core/axe.min.js";

pub struct Browser {
    runtime: Runtime,
    driver: Option<WebDriver>,
    process: Child,
    port: u16,
}

#[derive(Clone, Copy)]
pub enum Shape {
    Desk,
    Phone,
}

impl Browser {
    pub fn start() -> Self {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver (Debian's package `chromium-driver`)");
        let port = announced(&mut process);
        // The driver's client speaks no TLS, and wants somebody who could.
        rustls::crypto::ring::default_provider().install_default().ok();
        let mut browser = Self { runtime: Runtime::new().unwrap(), driver: None, process, port };
        let mut wanted = DesiredCapabilities::chrome();
        for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run"] {
            wanted.add_arg(flag).unwrap();
        }
        let driver = browser.runtime.block_on(WebDriver::new(format!("http://127.0.0.1:{port}"), wanted));
        browser.driver = Some(driver.expect("Chromium starts"));
        browser.shape(Shape::Desk);
        browser
    }

    fn run<T>(&self, what: impl AsyncFnOnce(&WebDriver) -> WebDriverResult<T>) -> T {
        self.runtime.block_on(what(self.driver.as_ref().expect("until it is dropped"))).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn go(&self, url: &str) {
        self.run(async |driver| driver.goto(url).await);
    }

    pub fn url(&self) -> String {
        self.run(async |driver| driver.current_url().await).to_string()
    }

    /// As with developer tools.
    fn tell(&self, method: &str, parameters: Value) {
        self.run(async |driver| driver.cdp().send_raw(method, parameters).await);
    }

    pub fn without_scripts(&self) {
        self.tell("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    }

    pub fn dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        self.tell("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": value}]}));
    }

    pub fn shape(&self, shape: Shape) {
        let (width, height, mobile) = match shape {
            Shape::Desk => (1200, 900, false),
            Shape::Phone => (390, 844, true),
        };
        self.tell("Emulation.setDeviceMetricsOverride", json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}));
    }

    pub fn click(&self, css: &str) {
        self.on(&By::Css(css), async |found| found.click().await);
    }

    /// The second press as soon as the first is over, whatever the page does meanwhile.
    pub fn double_click(&self, css: &str) {
        let driver = self.driver.as_ref().expect("until it is dropped");
        self.on(&By::Css(css), async |found| driver.action_chain().double_click_element(found).perform().await);
    }

    pub fn click_text(&self, text: &str) {
        let path = format!("//button[normalize-space()='{text}'] | //a[normalize-space()='{text}'] | //summary[normalize-space()='{text}']");
        self.on(&By::XPath(path), async |found| found.click().await);
    }

    /// Once it is there, and again where the page has put another in its place meanwhile, as a person would.
    fn on(&self, what: &By, act: impl AsyncFn(&WebElement) -> WebDriverResult<()>) {
        let driver = self.driver.as_ref().expect("until it is dropped");
        self.until(&format!("{what:?}"), || {
            let acted = async { act(&driver.find(what.clone()).await?).await };
            self.runtime.block_on(acted).is_ok()
        });
    }

    /// In place of what is there.
    pub fn fill(&self, css: &str, text: &str) {
        self.on(&By::Css(css), async |field| {
            field.clear().await?;
            field.send_keys(text).await
        });
    }

    pub fn value(&self, css: &str) -> String {
        self.run(async |driver| driver.find(By::Css(css)).await?.value().await).unwrap_or_default()
    }

    pub fn count(&self, css: &str) -> usize {
        self.run(async |driver| driver.find_all(By::Css(css)).await).len()
    }

    pub fn script(&self, script: &str) -> Value {
        self.run(async |driver| driver.execute(script, Vec::new()).await).json().clone()
    }

    /// All that the page says.
    pub fn text(&self) -> String {
        self.runtime
            .block_on(async {
                let body = self.driver.as_ref()?.find(By::Tag("body")).await.ok()?;
                body.text().await.ok()
            })
            .unwrap_or_default()
    }

    /// Waits until the page says so.
    pub fn sees(&self, text: &str) {
        self.until(&format!("`{text}` to be shown"), || self.text().contains(text));
    }

    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < SHOWN_WITHIN, "waited for {what}; {} shows:\n{}", self.url(), self.text());
            std::thread::sleep(LOOK);
        }
    }

    /// For eyes to look at: `target/screenshots/NAME.png`, the whole page.
    pub fn screenshot(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        let taken = self.run(async |driver| driver.cdp().send_raw("Page.captureScreenshot", json!({"captureBeyondViewport": true})).await);
        let image = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, taken["data"].as_str().unwrap()).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), image).unwrap();
    }

    /// What axe-core finds against WCAG 2 A and AA and its own good practice.
    pub fn violations(&self) -> Vec<String> {
        let axe = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(AXE)).expect("`npm ci --prefix tests/node` was run");
        let script = format!(
            "{axe}; const done = arguments[0]; axe.run(document).then(found => done(found.violations), error => done([{{id: String(error), nodes: []}}]));"
        );
        let found = self.run(async |driver| driver.execute_async(script, Vec::new()).await);
        let violation = |found: &Value| {
            format!(
                "{}: {} {}",
                found["id"],
                found["help"],
                found["nodes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|node| format!("\n  {} {}", node["html"], node["failureSummary"]))
                    .collect::<String>()
            )
        };
        found.json().as_array().expect("a list").iter().map(violation).collect()
    }
}

impl Drop for Browser {
    /// The driver ends its browsers with it, also where a test failed.
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            self.runtime.block_on(driver.quit()).ok();
        }
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            write!(stream, "GET /shutdown HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok();
            let _answered = stream.read(&mut [0; 64]);
        }
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// `ChromeDriver was started successfully on port 12345.`
fn announced(process: &mut Child) -> u16 {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let port =
        lines.find_map(|line| line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()).expect("chromedriver names its port");
    // It may say more than fits into a pipe.
    std::thread::spawn(move || lines.for_each(drop));
    port
}
