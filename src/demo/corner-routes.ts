import express, { type Request, type RequestHandler, type Response, Router } from 'express'
import { z } from 'zod'
import type { Message } from '../sandbox/outbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

export interface CornerRoutesParts {
  readonly sandbox: Sandbox
  readonly sandboxUrl: string
}

const MESSAGES_SHOWN = 3

const phoneQuery = z.object({ login: z.string() })
const pushBody = z.object({ login: z.string(), answer: z.enum(['approve', 'reject']) })
const welcomeBody = z.object({ login: z.string() })
const keyBody = z.object({ login: z.string(), challenge: z.string() })

/** What the demo's own corner of the page asks: the people of the sandbox, and what their phones and keys say. */
export function createCornerRoutes({ sandbox, sandboxUrl }: CornerRoutesParts): Router {
  const router = Router()
  router.use(express.json())

  router.get('/people', (_req, res) => {
    res.json(
      sandbox.people().map(({ login, password, config }) => ({
        login,
        password: config.activation ? '' : (password ?? ''),
        says: config.says,
      })),
    )
  })
  router.get(
    '/phone',
    refusing((req, res) => {
      const { login } = phoneQuery.parse(req.query)
      const messages = sandbox.outbox.messages.filter(
        (message) => message.login === sandbox.person(login).login,
      )
      res.json({
        codes: codesOf(sandbox, login),
        pushWaiting: sandbox.pushIsWaiting(login),
        messages: messages.slice(-MESSAGES_SHOWN).toReversed().map(describe),
      })
    }),
  )
  router.post(
    '/push',
    refusing((req, res) => {
      const { login, answer } = pushBody.parse(req.body)
      sandbox.answerPush(login, answer)
      res.status(204).end()
    }),
  )
  router.post(
    '/welcome',
    refusing((req, res) => {
      res.json({ link: `/#activation=${sandbox.activationToken(welcomeBody.parse(req.body).login)}` })
    }),
  )
  /** In the names of WebAuthn, for the page's stand-in for `navigator.credentials`. */
  router.post(
    '/key/sign',
    refusing((req, res) => {
      const { login, challenge } = keyBody.parse(req.body)
      const signed = sandbox.authenticator(login).signWebauthn(challenge, originOf(req))
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
  return router
}

/** Links of recovery mails lead to the sign-in page, as an org's own templates would have it. */
function describe({ at, kind, text, link, token, purpose }: Message): object {
  if (purpose !== 'recovery' || token === undefined) return { at, kind, text, link }
  return { at, kind, text: 'Open this link to get back into your account.', link: `/#recovery=${token}` }
}

function codesOf(sandbox: Sandbox, login: string): object[] {
  const { factors } = sandbox.person(login).config
  const tokens = factors.flatMap(({ credentialId }) =>
    credentialId === undefined
      ? []
      : [{ label: `Token ${credentialId}`, code: sandbox.tokenCode(credentialId) }],
  )
  if (tokens.length > 0) return tokens
  try {
    return [{ label: 'Authenticator app', code: sandbox.totpCode(login) }]
  } catch {
    return [] // this person has no factor that shows codes
  }
}

function originOf({ headers }: Request): string {
  return `http://${headers.host}`
}

/** The sandbox throws a sentence at what makes no sense. */
function refusing(handle: (req: Request, res: Response) => void): RequestHandler {
  return (req, res) => {
    try {
      handle(req, res)
    } catch (error) {
      res.status(400).json({ errorSummary: error instanceof Error ? error.message : 'not understood' })
    }
  }
}
