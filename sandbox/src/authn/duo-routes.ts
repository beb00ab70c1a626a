import { createHash } from 'node:crypto'
import { Router } from 'express'
import { validationFailed } from './authn-error.ts'
import { findDuoRequest } from './factors/duo-factor.ts'
import { escapeHtml, sendHtmlPage } from './html-page.ts'
import type { Org } from './org.ts'
import { duoFrameQuery, parseBody } from './schemas.ts'

/**
 * Duo's frame, at the path that version 2 of Duo's Web SDK opens: a page with two buttons.
 * "Approve" sends the AUTH part of `sig_response` to the page that embeds the frame. "Deny" sends
 * nothing, and the user can still approve.
 */
export function createDuoRoutes({ org }: { org: Org }): Router {
  const router = Router({ caseSensitive: true, strict: true })

  router.get('/frame/web/v1/auth', (req, res) => {
    const { tx, parent } = parseBody(duoFrameQuery, req.query)
    const request = findDuoRequest(org.transactions.all(), tx)
    if (request === undefined) throw validationFailed('tx', ['tx: does not belong to a pending request'])
    const { origin } = new URL(parent)
    const policy = `script-src 'sha256-${SCRIPT_HASH}'; frame-ancestors ${origin}`
    const data = `data-response="${escapeHtml(request.response)}" data-to="${escapeHtml(origin)}"`
    const content = `<p>Do you approve the request of ${escapeHtml(request.login)}?</p>
<button id="approve">Approve</button>
<button id="deny">Deny</button>
<p role="status"></p>
<script ${data}>${SCRIPT}</script>`
    sendHtmlPage(res, 'Duo', content, policy)
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
