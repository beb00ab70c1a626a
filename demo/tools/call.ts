/** Calls a tool of the demo (`/demo/…`). An error has the message of the sandbox. */
export async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(path, { method, headers, body: body ? JSON.stringify(body) : null })
  const answer = response.status === 204 ? {} : await response.json()
  if (!response.ok) throw new Error(answer.errorSummary ?? answer.error)
  return answer
}
