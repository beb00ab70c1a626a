import { type Request, type Response, Router } from 'express'
import { invalidToken, notFound, validationFailed } from './authn-error.ts'
import { applyIdentityProviderApproval } from './enroll.ts'
import { IDENTITY_PROVIDER_ID } from './factors/identity-provider-factors.ts'
import { sendHtmlPage, sendSignInPage, signedInAs } from './html-page.ts'
import { openOktaSession } from './okta-sessions.ts'
import type { Org } from './org.ts'
import type { Transaction } from './transaction.ts'

const ANSWERS: ReadonlySet<unknown> = new Set(['approve', 'reject'])

/**
 * For factors that an external identity provider verifies: the redirect to the provider, and the
 * provider itself, a page with two buttons. Both send the browser to Okta, or back to the portal's
 * sign-in page, without a token (`returnsTo`).
 */
export function createIdentityProviderRoutes({ org }: { org: Org }): Router {
  const router = Router({ caseSensitive: true, strict: true })

  router.get('/sso/idps/:id', (req, res) => {
    if (req.params.id !== IDENTITY_PROVIDER_ID) throw notFound(`${req.params.id} (IdentityProvider)`)
    const { factor, challenge } = org.transactions.find(String(req.query.stateToken))
    if (factor?.factorType !== 'claims_provider') throw invalidToken()
    redirect(res, challenge?.redirectKey)
  })
  router.get(['/policy/mfa-saml-idp-redirect', '/policy/mfa-oidc-idp-redirect'], (req, res) => {
    redirect(res, findPending(req.query.okta_key).challenge?.redirectKey)
  })

  router.get('/identity-provider/:key', (req, res) => {
    const { user, factor } = findPending(req.params.key)
    sendHtmlPage(res, `${factor?.config.vendorName ?? 'Identity provider'}: are you ${user?.login}?`, FORM)
  })
  router.post('/identity-provider/:key', (req: Request, res) => {
    const answer: unknown = req.body?.answer
    const transaction = findPending(req.params.key)
    if (!ANSWERS.has(answer)) throw validationFailed('answer', ['answer: must be approve or reject'])
    if (answer === 'reject') transaction.factorResult = 'FAILED'
    else if (transaction.challenge !== undefined) transaction.challenge.pushAnswer = 'approve'
    if (transaction.factor?.config.returnsTo === 'okta') completeAtOkta(res, transaction)
    else res.redirect(303, org.config.signInPage)
  })
  return router

  /**
   * Okta goes on with the sign-in on its own pages: at the end, it opens a session of its own, and
   * the state token is used up.
   */
  function completeAtOkta(res: Response, transaction: Transaction): void {
    const { user } = transaction
    applyIdentityProviderApproval(org, transaction)
    if (transaction.status !== 'SUCCESS' || user === undefined) {
      sendSignInPage(res)
      return
    }
    org.sessionTokens.take(transaction.sessionToken ?? '')
    openOktaSession(org, res, user)
    sendHtmlPage(res, 'Signed in at Okta', signedInAs(user))
  }

  /**
   * @throws E0000011 if no transaction has this redirect key, or if the identity provider has
   * already answered
   */
  function findPending(key: unknown): Transaction {
    const found = org.transactions.all().find(({ challenge, factorResult }) => {
      return (
        challenge?.redirectKey === key && challenge?.pushAnswer === undefined && factorResult !== 'FAILED'
      )
    })
    if (typeof key !== 'string' || found === undefined) throw invalidToken()
    return found
  }
}

const FORM = `<form method="post">
<button name="answer" value="approve">Yes, continue</button>
<button name="answer" value="reject">No</button>
</form>`

function redirect(res: Response, key: string | undefined): void {
  if (key === undefined) throw invalidToken()
  res.redirect(302, `/identity-provider/${key}`)
}
