import type { User } from './gatehouse.ts'
import { Html, html } from './html.ts'

function page(title: string, content: Html, head: Html = html``): string {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="stylesheet" href="/assets/style.css">
    ${head}
  </head>
  <body>
    <main>${content}</main>
  </body>
</html>`.text
}

export function portalPage({ login, session }: User, groups: readonly string[] | undefined): string {
  return page(
    'Portal',
    html`
      <h1>Portal</h1>
      <p>Signed in as ${login}</p>
      <h2>Your groups</h2>
      ${groups ? html`<ul>${groups.map((name) => html`<li>${name}</li>`)}</ul>` : html`<p>Your groups are not available now.</p>`}
      <form method="post" action="/sign-out">
        <input type="hidden" name="session" value="${session}">
        <button type="submit">Sign out</button>
      </form>`,
  )
}

export function messagePage(title: string, text: string, next = '/'): string {
  return page(title, html`<h1>${title}</h1><p>${text}</p><p><a href="${next}">Continue</a></p>`)
}

/** @param importMap JSON, whose hash the content security policy allows */
export function signInPage(importMap: string): string {
  const head = html`<script type="importmap">${new Html(importMap)}</script>
    <script type="module" src="/assets/sign-in.js"></script>`
  return page(
    'Sign in',
    html`
      <p id="alert" role="alert"></p>
      <form id="password" class="part" hidden>
        <h1 tabindex="-1">Sign in</h1>
        <label>Username <input name="username" autocomplete="username" autocapitalize="none" required></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
        <button type="submit">Sign in</button>
      </form>
      <section id="factors" class="part" hidden>
        <h1 tabindex="-1">Verify your identity</h1>
        <button type="button" data-factor="token:software:totp">Authenticator app</button>
        <button type="button" data-factor="push">Okta Verify</button>
        <button type="button" data-factor="sms">Text message</button>
      </section>
      <form id="code" class="part" hidden>
        <h1 tabindex="-1">Enter your code</h1>
        <label>Code <input name="passCode" inputmode="numeric" autocomplete="one-time-code" required></label>
        <button type="submit">Continue</button>
        <button type="button" class="resend">Send again</button>
        <button type="button" class="back">Use another way</button>
      </form>
      <section id="push" class="part" hidden>
        <h1 tabindex="-1">Check your phone</h1>
        <p role="status"></p>
        <button type="button" class="resend">Send again</button>
        <button type="button" class="back">Use another way</button>
      </section>
      <section id="other" class="part" hidden>
        <h1 tabindex="-1">Not possible</h1>
        <p>This page cannot continue the sign-in (<span id="status"></span>).</p>
        <button type="button" class="cancel">Back</button>
      </section>
      <section id="unavailable" class="part" hidden>
        <h1 tabindex="-1">Portal</h1>
        <a href="/">Try again</a>
      </section>`,
    head,
  )
}
