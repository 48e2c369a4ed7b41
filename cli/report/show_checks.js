// Runs the verifier over the transcript in this page, and shows each check as it runs.
(() => {
  const result = document.getElementById("result");
  const list = document.getElementById("checks");
  const rows = new Map();
  const began = performance.now();
  const WORDS = {
    encoding: "parts in the one encoding that is allowed",
    keys: "keys, none of them of small order",
    signatures: "valid signatures, those of keys and witnesses included",
    history: "steps, each bound to all before it",
    commitments: "secrets opened as they were committed to",
    dice: "dice that follow from the secrets of all",
    moves: "moves that the rules allow",
    absence: "votes on absence",
    purses: "stakes within what purses brought",
    proofs: "proofs of misconduct",
  };

  const say = (text, kind) => {
    result.replaceChildren();
    const strong = document.createElement("strong");
    strong.textContent = text;
    strong.className = kind || "";
    result.append(strong);
  };

  const tell = (text, kind) => {
    const line = document.createElement("p");
    line.textContent = text;
    line.className = kind || "";
    result.append(line);
  };

  // What a player wrote, with everything that could hide or reorder text made visible.
  const plain = (text) =>
    text.replace(/[\p{C}\p{Zl}\p{Zp}\\]|(?<=\p{M}\p{M})\p{M}/gu, (each) => `\\u{${each.codePointAt(0).toString(16)}}`);

  // The verdict at the top is that of whoever made the page. It must not stand there if this browser comes to another.
  const withdraw = () => {
    const claim = document.getElementById("claim");
    const [head, small] = [claim.querySelector("strong"), claim.querySelector("p")];
    small.textContent = `Whoever made this page wrote here: ${head.textContent}`;
    head.textContent = "Do not believe this page. Its transcript was judged otherwise in this browser: see below.";
    claim.className = "verdict bad";
  };

  // Leaves a word for programs that drive the browser.
  const end = (verdict, isJudged = true) => {
    document.documentElement.dataset.verdict = verdict;
    if (!isJudged) return;
    if (document.getElementById("claim").dataset.verdict !== verdict) withdraw();
    else document.getElementById("again").textContent = "A second program in this page has come to the same, in this browser.";
  };

  const row = (check) => {
    if (!rows.has(check)) {
      rows.set(check, document.createElement("li"));
      list.append(rows.get(check));
    }
    return rows.get(check);
  };

  const progress = ({ check, done, total }) => {
    row(check).textContent = `${done}${total ? ` of ${total}` : ""} ${WORDS[check] || check}`;
  };

  const HEADS = {
    fair: "Fair: verified in this browser.",
    misconduct: "Misconduct is proven: verified in this browser.",
    incomplete: "Incomplete, and nothing wrong so far: verified in this browser.",
    altered: "The transcript in this page is unreadable or was altered. This blames nobody.",
    unproven: "Fair, but with claims that nothing can prove: verified in this browser.",
    "other version": "The transcript is of another version of the protocol, and was not judged.",
  };

  const amount = (number, noun, sign = "") => `${number < 0 ? "−" : sign}${Math.abs(number)} ${noun}${Math.abs(number) === 1 ? "" : "s"}`;
  const coinsAndTickets = (coins, tickets, sign) =>
    amount(coins, "coin", sign) + (tickets ? ` and ${amount(tickets, "run ticket", sign)}` : "");

  const lineOf = (purse, name) => {
    const { funds, owned, bet, tickets, change, ticket_change: ticketChange, soul } = purse;
    const brought = `${name} brought ${coinsAndTickets(funds, owned)}`;
    if (bet === null) return `${brought}. No stake was opened.`;
    const staked = `${brought}. Staked: ${coinsAndTickets(bet, tickets)}`;
    if (change === null) return `${staked}.`;
    return `${staked}. Change: ${coinsAndTickets(change, ticketChange, "+")}${soul ? `, and the Twin Soul ${soul}` : ""}.`;
  };

  // What a transcript proves of purses, and what it cannot.
  const showPurses = ({ purses, players }) => {
    const opened = purses.filter(({ bet }) => bet !== null).length;
    const settled = purses.some(({ change }) => change !== null);
    tell(
      "Proven of the purses: each player's identity has signed what the purse held that the player brought" +
        (opened ? "; each stake that was opened is within that" : "") +
        (settled ? "; and the changes below follow from what the players brought and staked, and from how the match ended." : "."),
    );
    const list = document.createElement("ul");
    purses.forEach((purse, seat) => {
      const item = document.createElement("li");
      item.textContent = lineOf(purse, plain(players[seat]));
      list.append(item);
    });
    result.append(list);
    tell(
      "No transcript can prove that a purse had no newer record, or that its coins were right. Those who signed the " +
        "start of this match have checked that, as far as they could. Nor does it show what came into a purse later.",
    );
  };

  const show = (found) => {
    for (const each of found.checks) {
      row(each.check).textContent = `${each.ok ? "" : "Failed, after "}${each.count || "no"} ${WORDS[each.check] || each.check}`;
      row(each.check).className = each.ok ? "done" : "failed";
    }
    const good = found.verdict === "fair" || found.verdict === "unproven";
    say(HEADS[found.verdict], good ? "true" : found.verdict === "incomplete" ? "" : "false");
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    tell(`${plain(found.reason)} ${found.signatures} signatures in ${found.steps} steps, in ${seconds} seconds.`);
    found.winners.forEach((name, at) => tell(`Won: ${plain(name)}, ${found.winner_fingerprints[at]}.`));
    if (found.purses) showPurses(found);
    if (found.verdict !== "altered" && differs(found)) {
      tell("This page shows other players or another winner than its transcript holds: do not believe what it shows.", "false");
      end("other page");
    } else end(found.verdict);
  };

  // Whether the table of players is not the one of the transcript, or the title names other winners than the table.
  const differs = (found) => {
    const shown = [...document.querySelectorAll(".player")].map((each) => ({
      name: each.querySelector("bdi").textContent,
      fingerprint: each.querySelector(".fingerprint").textContent,
      won: each.querySelector(".place").textContent === "1",
    }));
    const winners = shown.filter(({ won }) => won).map(({ fingerprint }) => fingerprint);
    const named = shown.filter(({ won }) => won).map(({ name }) => name);
    const titled = [...document.querySelectorAll(".winner")].map((each) => each.textContent);
    const same = (left, right) => left.join() === right.join();
    return (
      !same(shown.map(({ fingerprint }) => fingerprint).sort(), [...found.fingerprints].sort()) ||
      !same(titled.sort(), named.sort()) ||
      (found.verdict !== "other version" && !same(winners.sort(), [...found.winner_fingerprints].sort()))
    );
  };

  // The bytes in the page, or null if they are not written in the one way in which they can be.
  const carried = () => {
    const text = document.getElementById("transcript").textContent;
    try {
      const characters = atob(text);
      if (btoa(characters) !== text) return null;
      // For the largest file, Uint8Array.from would take 50 times as long.
      const bytes = new Uint8Array(characters.length);
      for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
      return bytes;
    } catch {
      return null;
    }
  };

  const start = async () => {
    const bytes = carried();
    if (!bytes) {
      say(HEADS.altered, "false");
      end("altered");
      return;
    }
    const save = document.getElementById("save");
    save.href = URL.createObjectURL(new Blob([bytes]));
    save.hidden = false;
    if (!(await canVerify())) {
      say("This browser cannot check Ed25519 signatures. Use a newer one, or save the transcript and run: p2pdice verify match.p2pdice");
      end("no Ed25519", false);
      return;
    }
    say("Verifying in this browser…");
    show(await verifyTranscript(bytes, progress));
  };

  // What is folded would be missing on paper. The steps stay folded: they are for those who read the transcript.
  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details:not([open]):not(.steps):not(.steps *)")) {
      each.open = true;
      opened.push(each);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const each of opened.splice(0)) each.open = false;
  });

  start().catch((error) => {
    say("The program in this page failed, and has verified nothing. Save the transcript and run: p2pdice verify match.p2pdice", "false");
    tell(String(error));
    end("failed", false);
  });
})();
