import type { ErrorObject } from '../errors.ts'

/** An error as an HTML page, without scripts and external resources. */
export function errorPage({ errorCode, errorSummary, errorId }: ErrorObject): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sign-in</title></head>
<body>
<main>
<h1>Something went wrong</h1>
<p>${escapeHtml(errorSummary)}</p>
<p>Go back to the portal and sign in again. If the error persists, give this code to your help desk:</p>
<p><code>${escapeHtml(errorCode)} ${escapeHtml(errorId)}</code></p>
</main>
</body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
