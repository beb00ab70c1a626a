/** The body of a step in the encoding of its route: a form for Duo's link, otherwise JSON. */
export function stepBody(path: string, fields: object): { readonly type: string; readonly text: string } {
  if (!path.endsWith('/lifecycle/duoCallback'))
    return { type: 'application/json', text: JSON.stringify(fields) }
  const form = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)])
  return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(form).toString() }
}

/** The members of all steps' bodies, without the handle. */
export const STEP_FIELDS = {
  oldPassword: 'a',
  newPassword: 'b',
  answer: 'c',
  passCode: '000000',
  factorType: 'EMAIL',
  provider: 'OKTA',
  id: 'fac123',
  sig_response: 'plainly-fake',
}
