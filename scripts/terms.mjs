/**
 * Words that this project does not use, each with what to write instead (docs/glossary.md). A pattern is matched against a line in which
 * `camelCase` and `snake_case` names are split into words.
 */
export const TERMS = [
  { not: /(?<!in[ -])\bflights?\b/i, use: 'transaction; coalesced requests' },
  { not: /\bscouts?\b|\bknock(s|ed|ing)?\b/i, use: 'probe (rate-limit gate)' },
  { not: /(?<!\.)\bclaim(s|ed|ing)?\b(?! provider)/i, use: 'step lock: acquire, release, commit' },
  { not: /\blets? go\b/i, use: 'release; close' },
  { not: /(?<!all[ -])\bsettle[sd]?\b/i, use: 'commit; consume; finished' },
  { not: /\balongside\b/i, use: 'commit; in the same round trip' },
  { not: /\bundo(es|ne|ing)?\b/i, use: 'roll back; refund; revert' },
  { not: /\b(take[sn]?|took|taking|give[sn]?|gave|giving) back\b/i, use: 'roll back; refund; return' },
  { not: /\bhand(s|ed|ing)?[ -](over|on)\b/i, use: 'SSO token; redirect; pass' },
  { not: /\bremnants?\b/i, use: 'redirect-only transaction' },
  { not: /\bearn(s|ed)?\b/i, use: 'issue (a session)' },
  { not: /\b(gives?|gave|given) way\b|\b(makes?|made) room\b/i, use: 'evict; defer' },
  { not: /\bimpatient(ly)?\b/i, use: 'fail-fast' },
  { not: /\bmovable\b/i, use: 'reconnecting' },
  { not: /\btroubles?\b/i, use: 'failure; fault; problem' },
  { not: /\bslips?\b/i, use: 'failure; mistake' },
  { not: /\bborn\b/i, use: 'Express prototypes; created' },
  { not: /\bat the door\b|\bturn(s|ed|ing)? away\b/i, use: 'load shedding; refused' },
  { not: /\bturn[ -]output\b/i, use: 'buffered stdout' },
  { not: /\bopen[ -]authn\b/i, use: 'createAuthn' },
  { not: /\b(houses?|rooms?)\b/i, use: 'module (folder); codebase; harness' },
  {
    not: /\b(somebody|everybody|anybody|whoever|strangers?)\b/i,
    use: 'the user; the client; everyone; anyone',
  },
  { not: /\bvendors?\b(?! name)/i, use: 'Okta' },
  { not: /\bfield[ -]notes\b|\bDESIGN §/i, use: 'a page of docs/' },
  { not: /\benrol(?!l)/i, use: "enroll, enrollment (Okta's spelling)" },
  { not: /\bg(o|oes|oing|one) on\b|\bwent on\b/i, use: 'Continue; continues' },
  { not: /\bdo(es)? not fit\b/i, use: 'Incorrect username or password; does not match' },
  { not: /\blook into your mail\b/i, use: 'Check your email' },
  {
    not: /\b(guessing|countings|defences?|allowances?)\b/i,
    use: 'throttling: limit, window, attempt, reservation',
  },
  { not: /\bguards?\b/i, use: 'token filter; check' },
  { not: /\bsays wait\b/i, use: 'poll pacing' },
  { not: /\bthe word (at|of)\b/i, use: 'shared result' },
  { not: /\b(heeded|anew|in vain|nought|thereupon|whereupon)\b/i, use: 'used; again; without effect' },
  { not: /\bbeside\b/i, use: 'next to; in addition to; at the same time' },
  { not: /\bstands? (there|in(?! front)|at|on|under|for itself)\b/i, use: 'is in; appears in' },
  { not: /\bperson [a-z]+ed\b|\bperson (id|names?|limits?)\b|\bper person\b/i, use: 'user' },
  // A clause as the subject of a statement. Questions end with a question mark; headings are not sentences.
  {
    not: /(^|[.;:] |\/\/ |\* )(who|what) [a-z][^?!]*[.;]( \*\/)?$/i,
    use: 'a sentence whose subject has a name',
  },
]

/** Lines in which such a word is right. `text` is part of the line. Keep this list short. */
export const EXCEPTIONS = [
  { path: 'scripts/terms.mjs', text: '', why: 'the list itself' },
  { path: 'scripts/check-terms.mjs', text: '', why: 'the list itself' },
  { path: 'test/scripts/check-terms.test.ts', text: '', why: 'its test' },
  {
    path: 'src/authn/create-authn.ts',
    text: "'hand-over",
    why: 'a label from which keys are derived: stored SSO tokens depend on it',
  },
  { path: 'test/journeys/upgrade.test.ts', text: "label: 'hand-over'", why: 'the same label' },
  {
    path: 'src/authn/transaction/transaction-store.ts',
    text: 'enrolment',
    why: 'the name of a stored field in records of earlier versions',
  },
  { path: 'test/journeys/upgrade.test.ts', text: 'enrolment', why: 'the same field' },
  { path: 'bench/peers/express-openid-connect.mjs', text: 'claims', why: 'the claims of an ID token' },
]
