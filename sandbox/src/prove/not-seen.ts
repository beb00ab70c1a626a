const PROVIDER = 'needs another identity provider'
const OTHERS = 'the setting is the org’s own, and would change it for others'
const ANNOUNCED = 'is an announcement of Okta, not behavior'

/** Beliefs of docs/unproven.md that no run can see, and why. */
export const NOT_SEEN: Readonly<Record<string, string>> = {
  A3: 'needs an upgrade of the org between the sign-in and the redemption',
  A5: 'needs a password that Okta knows from a breach',
  A6: 'needs an administrator’s role of its own, which Gatehouse does not use',
  E4: OTHERS,
  E6: 'needs an application with a sign-in page of its own',
  E7: 'needs a device that Okta FastPass manages',
  F5: PROVIDER,
  H1: OTHERS,
  L1: 'needs 75 calls at once, or five sign-ins of a user in a second: the run is gentle',
  L2: 'needs more calls than the org’s limit allows: the run is gentle',
  L3: 'needs more calls than the token’s limit allows: the run is gentle',
  N1: 'needs an API token that is restricted to a zone',
  O1: OTHERS,
  O2: ANNOUNCED,
  O3: ANNOUNCED,
  O5: 'needs Okta’s own client, which Gatehouse does not use',
  R11: PROVIDER,
  S3: 'needs a temporary password that expires, which takes days',
  S8: 'needs an application that manages the password',
  S11: 'needs an RSA server and its tokens',
  S13: 'needs an account at Duo',
  S14: OTHERS,
  S15: 'needs ten lockouts, and the time that each one takes to end',
}
