import { FACTOR_HANDLERS } from './factors/factor-handlers.ts'
import { actionLink, type Link } from './links.ts'
import { canSkipEnrollment } from './next-status.ts'
import type { Org } from './org.ts'
import type { Status } from './statuses.ts'
import type { Transaction } from './transaction.ts'

type View = { org: Org; transaction: Transaction; origin: string }
type Links = Record<string, Link | Link[]>

const AUTHN = '/api/v1/authn'
/** Factors that the user answers on a phone or in Duo's frame, while the page polls. */
const POLLED_FACTORS: ReadonlySet<string> = new Set(['push', 'web'])

/** `_links` of the transaction; undefined if there are none. */
export function presentLinks(view: View): Links | undefined {
  const links = LINKS[view.transaction.status](view)
  return Object.keys(links).length === 0 ? undefined : links
}

const LINKS: Record<Status, (view: View) => Links> = {
  SUCCESS: ({ transaction, origin }) =>
    transaction.app === undefined
      ? {}
      : {
          next: actionLink(
            origin,
            `/login/step-up/redirect?stateToken=${transaction.stateToken}`,
            'GET',
            'original',
          ),
        },
  PASSWORD_EXPIRED: (view) => ({ next: changePassword(view, 'GET'), ...cancel(view) }),
  PASSWORD_WARN: (view) => ({
    next: changePassword(view, 'POST'),
    skip: actionLink(view.origin, `${AUTHN}/skip`, 'POST', 'skip'),
    ...cancel(view),
  }),
  PASSWORD_RESET: (view) => ({
    next: next(view, view.org.settings.resetPasswordName, '/credentials/reset_password'),
    ...cancel(view),
  }),
  MFA_REQUIRED: (view) => cancel(view),
  MFA_CHALLENGE: (view) => challengeLinks(view),
  MFA_ENROLL: (view) => ({ ...skipEnrollment(view), ...cancel(view) }),
  MFA_ENROLL_ACTIVATE: (view) => activationLinks(view),
  LOCKED_OUT: (view) => ({ next: next(view, 'unlock', '/recovery/unlock'), ...cancel(view) }),
  RECOVERY: (view) => ({ next: next(view, 'answer', '/recovery/answer'), ...cancel(view) }),
  RECOVERY_CHALLENGE: (view) => recoveryLinks(view),
  UNAUTHENTICATED: ({ origin }) => ({ next: actionLink(origin, AUTHN, 'POST', 'authenticate') }),
}

function next({ origin }: View, name: string, path: string): Link {
  return actionLink(origin, AUTHN + path, 'POST', name)
}

/**
 * The link to change the password here, or at the site that manages it: then with the method of the
 * widget's recorded answers (CUSTOM_PASSWORD_EXPIRED.js, CUSTOM_PASSWORD_WARN.js), of which POST is
 * not meant.
 */
function changePassword(view: View, methodElsewhere: 'GET' | 'POST'): Link {
  const site = view.transaction.user?.config.passwordSite
  if (site === undefined) return next(view, 'changePassword', '/credentials/change_password')
  const { title, url } = site
  return { name: 'changePassword', title, href: url, hints: { allow: [methodElsewhere] } }
}

function cancel({ origin }: View): Links {
  return { cancel: actionLink(origin, `${AUTHN}/cancel`) }
}

function cancelAndPrevious(view: View): Links {
  return { ...cancel(view), prev: actionLink(view.origin, `${AUTHN}/previous`) }
}

function challengeLinks(view: View): Links {
  const { factor, challengeByType, factorResult } = view.transaction
  if (factor === undefined) return cancelAndPrevious(view)
  const path = `/factors/${challengeByType ? factor.factorType : factor.id}/verify`
  const isPolling = POLLED_FACTORS.has(factor.factorType) && factorResult === 'WAITING'
  const { resend } = FACTOR_HANDLERS[factor.factorType]
  return {
    next: redirectLink(view) ?? next(view, isPolling ? 'poll' : 'verify', path),
    ...cancelAndPrevious(view),
    ...(resend === undefined ? {} : { resend: [next(view, resend, `${path}/resend`)] }),
  }
}

/** The link to the external identity provider that verifies or enrolls the factor, if one does. */
function redirectLink({ org, transaction, origin }: View): Link | undefined {
  const { user, factor, challenge } = transaction
  if (user === undefined || factor === undefined || challenge === undefined) return undefined
  return FACTOR_HANDLERS[factor.factorType].redirect?.({ org, transaction, user, factor, challenge, origin })
}

function activationLinks(view: View): Links {
  const { factor, factorResult } = view.transaction
  if (factor === undefined) return cancelAndPrevious(view)
  const path = `/factors/${factor.id}/lifecycle`
  const { resend } = FACTOR_HANDLERS[factor.factorType]
  const isPolling = POLLED_FACTORS.has(factor.factorType) && factorResult === 'WAITING'
  return {
    next:
      redirectLink(view) ??
      (isPolling ? next(view, 'poll', `${path}/activate/poll`) : next(view, 'activate', `${path}/activate`)),
    ...cancelAndPrevious(view),
    ...(resend === undefined || resend === 'push' ? {} : { resend: [next(view, resend, `${path}/resend`)] }),
  }
}

function skipEnrollment({ org, transaction, origin }: View): Links {
  const { user } = transaction
  const canSkip = user !== undefined && canSkipEnrollment(org, user)
  return canSkip ? { skip: actionLink(origin, `${AUTHN}/skip`, 'POST', 'skip') } : {}
}

function recoveryLinks(view: View): Links {
  const type = view.transaction.recoveryFactor ?? 'SMS'
  return {
    next: next(view, 'verify', `/recovery/factors/${type}/verify`),
    ...cancel(view),
    resend: next(view, type.toLowerCase(), `/recovery/factors/${type}/resend`),
  }
}
