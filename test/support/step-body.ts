/** A step's body as its route takes it: a form at Duo's link (DESIGN §2), JSON everywhere else. */
export function stepBody(path: string, fields: object): { readonly type: string; readonly text: string } {
  if (!path.endsWith('/lifecycle/duoCallback'))
    return { type: 'application/json', text: JSON.stringify(fields) }
  const form = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)])
  return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(form).toString() }
}
