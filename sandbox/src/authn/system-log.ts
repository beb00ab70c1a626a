import { createHash } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import { validationFailed } from './authn-error.ts'
import type { Org, SignIn } from './org.ts'

const REQUEST_ID = 'X-Okta-Request-Id'

/**
 * Sets the id of the request, which System Log events name too
 * (https://developer.okta.com/docs/reference/core-okta-api/).
 */
export function setRequestId(): RequestHandler {
  let count = 0
  return function setRequestId(_req, res, next) {
    count += 1
    res.set(REQUEST_ID, `req${String(count).padStart(21, '0')}`)
    next()
  }
}

export function requestIdOf(req: Request): string {
  return String(req.res?.get(REQUEST_ID))
}

/**
 * The System Log's events: those of primary authentication by `transaction.id eq "…"`, those about
 * a user by `target.id eq "…"`.
 */
export function systemLogEvents(org: Org, { filter, since }: Request['query']): object[] {
  const [, name, value] = /^(transaction|target)\.id eq "([^"]*)"$/.exec(String(filter)) ?? []
  if (name === undefined) throw validationFailed('filter', ['filter: The filter is not supported'])
  const sinceMs = since === undefined ? 0 : Date.parse(String(since))
  if (Number.isNaN(sinceMs)) throw validationFailed('since', ['since: The date format is not valid'])
  if (name === 'target')
    return org.events.filter(
      ({ target, published }) =>
        [target].flat().some((each) => Object(each).id === value) && Date.parse(String(published)) >= sinceMs,
    )
  return org.signIns.filter((signIn) => signIn.requestId === value && signIn.at >= sinceMs).map(toEvent)
}

function toEvent(signIn: SignIn): object {
  const { at, login, outcome, address, ipChain, zones, userAgent, deviceToken, requestId } = signIn
  const refused = outcome === 'denied' || outcome.startsWith('E0')
  return {
    uuid: requestId,
    version: '0',
    published: new Date(at).toISOString(),
    severity: refused ? 'WARN' : 'INFO',
    eventType: outcome === 'SUCCESS' || refused ? 'user.session.start' : 'policy.evaluate_sign_on',
    displayMessage: 'User login to Okta',
    actor: { type: 'User', alternateId: login },
    client: {
      userAgent: { rawUserAgent: userAgent ?? null },
      // Okta's examples have this text for a client in no zone. Of several zones, one is named
      // (docs/unproven.md N2).
      zone: zones[0] ?? 'null',
      device: 'Unknown',
      ipAddress: address,
    },
    request: {
      ipChain: ipChain.map((ip) => ({ ip, version: ip.includes(':') ? 'V6' : 'V4', source: null })),
    },
    securityContext: { asNumber: null, asOrg: null, isp: null, domain: null, isProxy: null },
    outcome: { result: refused ? 'FAILURE' : 'SUCCESS', reason: refused ? 'INVALID_CREDENTIALS' : null },
    transaction: {
      type: 'WEB',
      id: requestId,
      detail: signIn.apiTokenId === undefined ? {} : { requestApiTokenId: signIn.apiTokenId },
    },
    debugContext: {
      debugData: {
        requestId,
        requestUri: '/api/v1/authn',
        ...(deviceToken === undefined
          ? {}
          : { dtHash: createHash('sha256').update(deviceToken).digest('hex') }),
      },
    },
  }
}
