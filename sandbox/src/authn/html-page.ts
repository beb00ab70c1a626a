import type { Response } from 'express'
import type { User } from './user.ts'

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'"
const STYLE = `
body { max-width: 40rem; margin: 3rem auto; padding: 0 1rem; background: #fff; color: #17203a; font: 1rem/1.5 system-ui, sans-serif }
a { color: #2456c9 }
@media (prefers-color-scheme: dark) { html, body { background: #0f131d; color: #e9edf7 } a { color: #8fb0ff } }
`

/**
 * Sends an HTML page.
 *
 * @param content HTML below the heading
 * @param policy additional Content-Security-Policy directives
 */
export function sendHtmlPage(res: Response, title: string, content = '', policy?: string): void {
  res.set('Content-Security-Policy', policy === undefined ? POLICY : `${POLICY}; ${policy}`).type('html')
  res.send(
    `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<main><h1>${escapeHtml(title)}</h1>${content}</main>
</html>
`,
  )
}

/** Okta's own sign-in page. */
export function sendSignInPage(res: Response): void {
  sendHtmlPage(res, 'Sign in at Okta', '<p>The sandbox has no form here.</p>')
}

export function signedInAs({ login }: User): string {
  return `<p>You are signed in as ${escapeHtml(login)}.</p>`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
