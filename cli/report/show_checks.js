// Runs the verifier over the transcript in this page, and shows each check as it runs.
(() => {
  const result = document.getElementById("result");
  const list = document.getElementById("checks");
  const rows = new Map();
  const WORDS = {
    encoding: "encoding", keys: "keys", signatures: "signatures", history: "steps of the history", commitments: "commitments",
    dice: "dice", moves: "moves", absence: "votes on absence", proofs: "proofs of misconduct",
  };

  const say = (text, kind) => {
    result.replaceChildren();
    const strong = document.createElement("strong");
    strong.textContent = text;
    strong.className = kind || "";
    result.append(strong);
  };

  const row = (check) => {
    if (!rows.has(check)) {
      rows.set(check, document.createElement("li"));
      list.append(rows.get(check));
    }
    return rows.get(check);
  };

  const progress = ({ check, done, total }) => {
    row(check).textContent = `${WORDS[check] || check}: ${done}${total ? ` of ${total}` : ""}`;
  };

  const HEADS = {
    fair: "Fair: verified in this browser.",
    misconduct: "Misconduct is proven: verified in this browser.",
    incomplete: "Incomplete, and nothing wrong so far: verified in this browser.",
    altered: "The transcript in this page is unreadable or was altered. This blames nobody.",
    unproven: "Fair, but with claims that nothing can prove: verified in this browser.",
    "other version": "The transcript is of another version of the protocol, and was not judged.",
  };

  const show = (found) => {
    for (const each of found.checks) {
      row(each.check).textContent = `${WORDS[each.check] || each.check}: ${each.count || "none in this match"}`;
      row(each.check).className = each.ok || !each.count ? "done" : "failed";
    }
    const good = found.verdict === "fair" || found.verdict === "unproven";
    say(HEADS[found.verdict], good ? "true" : found.verdict === "incomplete" ? "" : "false");
    const why = document.createElement("p");
    why.textContent = `${found.reason} ${found.signatures} signatures in ${found.steps} steps.`;
    result.append(why);
    document.documentElement.dataset.verdict = found.verdict;
  };

  const start = async () => {
    const text = document.getElementById("transcript").textContent.trim();
    let bytes;
    try {
      bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    } catch {
      say(HEADS.altered, "false");
      document.documentElement.dataset.verdict = "altered";
      return;
    }
    const save = document.getElementById("save");
    save.href = URL.createObjectURL(new Blob([bytes]));
    save.hidden = false;
    if (!(await canVerify())) {
      say("This browser cannot check Ed25519 signatures. Use a newer one, or save the transcript and run: p2pdice verify match.p2pdice");
      document.documentElement.dataset.verdict = "no Ed25519";
      return;
    }
    say("Verifying in this browser…");
    show(await verifyTranscript(bytes, progress));
  };

  start();
})();
