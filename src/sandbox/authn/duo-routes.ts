import { createHash } from 'node:crypto'
import { Router } from 'express'
import { validationFailed } from './authn-error.ts'
import { duoFrameQuery, parseBody } from './bodies.ts'
import { duoRequest } from './factors/duo-factor.ts'
import { html, showPage } from './html-page.ts'
import type { Org } from './org.ts'

/**
 * Duo's frame, at the address that version 2 of Duo's Web SDK opens: a page with two buttons. On approval it sends the
 * AUTH part of `sig_response` to the page that framed it. A denial stays in the frame, and the user can still approve.
 */
export function createDuoRoutes({ org }: { org: Org }): Router {
  const router = Router({ caseSensitive: true, strict: true })

  router.get('/frame/web/v1/auth', (req, res) => {
    const { tx, parent } = parseBody(duoFrameQuery, req.query)
    const request = duoRequest(org.transactions.all(), tx)
    if (request === undefined) throw validationFailed('tx', ['tx: is not of a request that waits'])
    const { origin } = new URL(parent)
    const policy = `script-src 'sha256-${SCRIPT_HASH}'; frame-ancestors ${origin}`
    const data = `data-response="${html(request.response)}" data-to="${html(origin)}"`
    const content = `<p>Do you approve the request of ${html(request.login)}?</p>
<button id="approve">Approve</button>
<button id="deny">Deny</button>
<p role="status"></p>
<script ${data}>${SCRIPT}</script>`
    showPage(res, 'Duo', content, policy)
  })
  return router
}

const SCRIPT = `
const { response, to } = document.currentScript.dataset
const status = document.querySelector('[role=status]')
document.querySelector('#approve').addEventListener('click', () => {
  status.textContent = 'You have approved the request.'
  window.parent.postMessage(response, to)
})
document.querySelector('#deny').addEventListener('click', () => {
  status.textContent = 'You have denied the request. You can still approve it.'
})
`
const SCRIPT_HASH = createHash('sha256').update(SCRIPT).digest('base64')
