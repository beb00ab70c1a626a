import express, { type Request, type RequestHandler, type Response, Router } from 'express'
import { statusOf } from 'gatehouse-sandbox/authn/user-lifecycle'
import { refuseOtherSites } from 'gatehouse-sandbox/other-sites'
import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import { z } from 'zod'

export interface ToolsRoutesOptions {
  readonly sandbox: Sandbox
  readonly sandboxUrl: string
  /** Restores the initial state of sandbox and broker. */
  readonly reset: () => Promise<void>
}

const MESSAGES_SHOWN = 3

const lifecycleBody = z.object({
  login: z.string(),
  operation: z.enum(['suspend', 'unsuspend', 'deactivate', 'reset_password']),
})
const ofUser = z.object({ login: z.string() })
const answerBody = z.object({ login: z.string(), answer: z.union([z.enum(['approve', 'reject']), z.int()]) })
const keyBody = z.object({ login: z.string(), challenge: z.string(), credentialId: z.string().optional() })

/** The API of the demo's tools: the sandbox's users, their phones and security keys. */
export function createToolsRoutes({ sandbox, sandboxUrl, reset }: ToolsRoutesOptions): Router {
  const router = Router()
  router.use(refuseOtherSites(), express.json())

  router.get('/users', (_req, res) => {
    res.json(
      sandbox.users().map((user) => ({
        login: user.login,
        name: `${user.config.firstName} ${user.config.lastName}`,
        password: user.config.activation ? '' : (user.password ?? ''),
        description: user.config.description,
        status: statusOf(user),
      })),
    )
  })
  router.post(
    '/users/lifecycle',
    refusing(async (req, res) => {
      const { login, operation } = lifecycleBody.parse(req.body)
      await sandbox.changeLifecycle(login, operation)
      res.json({ status: statusOf(sandbox.user(login)) })
    }),
  )
  router.get(
    '/phone',
    refusing((req, res) => {
      const { login } = sandbox.user(ofUser.parse(req.query).login)
      const messages = sandbox.outbox.messages.filter((message) => message.login === login)
      res.json({
        codes: sandbox.phone.codes(login),
        request: sandbox.phone.request(login),
        messages: messages.slice(-MESSAGES_SHOWN).toReversed(),
      })
    }),
  )
  router.post(
    '/phone/answer',
    refusing((req, res) => {
      const { login, answer } = answerBody.parse(req.body)
      sandbox.phone.answer(login, answer)
      res.status(204).end()
    }),
  )
  router.post(
    '/phone/scan',
    express.raw({ type: 'image/png' }),
    refusing(async (req, res) => {
      await sandbox.phone.scan(ofUser.parse(req.query).login, z.instanceof(Buffer).parse(req.body))
      res.status(204).end()
    }),
  )
  router.post(
    '/welcome',
    refusing((req, res) => {
      res.json({ link: `/#activation=${sandbox.activationToken(ofUser.parse(req.body).login)}` })
    }),
  )
  /** The responses have WebAuthn's field names. */
  router.post(
    '/key/sign',
    refusing((req, res) => {
      const { login, challenge, credentialId } = keyBody.parse(req.body)
      const signed = sandbox.authenticator(login, credentialId).signWebauthn(challenge, originOf(req))
      res.json({
        clientDataJSON: signed.clientData,
        authenticatorData: signed.authenticatorData,
        signature: signed.signatureData,
      })
    }),
  )
  router.post(
    '/key/register',
    refusing((req, res) => {
      const { login, challenge } = keyBody.parse(req.body)
      const registered = sandbox.authenticator(login).registerWebauthn(challenge, originOf(req))
      res.json({ clientDataJSON: registered.clientData, attestationObject: registered.attestation })
    }),
  )
  router.get('/app/payroll', (_req, res) => {
    res.redirect(303, `${sandboxUrl}/app/payroll/sso`)
  })
  router.post(
    '/reset',
    refusing(async (_req, res) => {
      await reset()
      res.status(204).end()
    }),
  )
  return router
}

function originOf({ headers }: Request): string {
  return `http://${headers.host}`
}

/** The sandbox throws an Error with a readable message if a request is invalid. */
function refusing(handle: (req: Request, res: Response) => void | Promise<void>): RequestHandler {
  return async (req, res) => {
    try {
      await handle(req, res)
    } catch (error) {
      const errorSummary = error instanceof Error ? error.message : 'not understood'
      res.status(400).json({ errorCode: 'DEMO', errorSummary })
    }
  }
}
