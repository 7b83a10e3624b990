// A mail server for tests: `node smtp.cjs PORT MODE FOLDER` (`plain`, `starttls` or `tls`, with the certificate in FOLDER).
// It says `listening PORT`, then a line of JSON for each mail that it took. `never-…` is nobody it knows; `later-N-…` is
// put off N times. With TLS it wants the user `gate` and the password `a password`, by PLAIN or, asked so, by LOGIN alone.
const fs = require("node:fs");
const { SMTPServer } = require("smtp-server");

const [port, mode, folder, methods = "PLAIN,LOGIN"] = process.argv.slice(2);
const file = (name) => fs.readFileSync(`${folder}/${name}`);
const refusal = (responseCode, text) => Object.assign(new Error(text), { responseCode });
const putOff = new Map();

const server = new SMTPServer({
  ...(mode === "plain" ? { disabledCommands: ["STARTTLS", "AUTH"] } : { key: file("server.key"), cert: file("server.pem") }),
  secure: mode === "tls",
  authOptional: mode === "plain",
  authMethods: methods.split(","),
  logger: false,
  onAuth({ username, password, method }, session, done) {
    if (username !== "gate" || password !== "a password") return done(refusal(535, `no such user: ${password}`));
    done(null, { user: `${username} by ${method}` });
  },
  onRcptTo({ address }, session, done) {
    const [kind, count] = address.split("@")[0].split("-");
    if (kind === "never") return done(refusal(550, "no such person"));
    const times = putOff.get(address) ?? 0;
    if (kind === "later" && times < Number(count)) {
      putOff.set(address, times + 1);
      return done(refusal(450, "come again"));
    }
    done();
  },
  onData(stream, session, done) {
    const pieces = [];
    stream.on("data", (piece) => pieces.push(piece));
    stream.on("end", () => {
      const { mailFrom, rcptTo } = session.envelope;
      const mail = {
        from: mailFrom.address,
        to: rcptTo.map(({ address }) => address),
        secure: session.secure,
        user: session.user ?? null,
        text: Buffer.concat(pieces).toString("latin1"),
      };
      // Whoever hears that it is taken finds it told.
      fs.writeSync(1, `${JSON.stringify(mail)}\n`);
      done();
    });
  },
});
server.on("error", () => {});
server.listen(Number(port), "127.0.0.1", () => console.log(`listening ${server.server.address().port}`));
