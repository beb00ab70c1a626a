import { BrokerTrouble } from './broker.js'

/** What a person is told about an error, and what the page does about it. */
export interface Advice {
  readonly text: string
  /** Sentences of the upstream that say what exactly is wrong. */
  readonly causes: readonly string[]
  /** sign-in: this sign-in is over, show its first screen. look-again: ask who is signed in. */
  readonly remedy?: Remedy
  readonly waitSeconds?: number
}
export type Remedy = 'sign-in' | 'look-again'

interface Rule {
  readonly text: string
  readonly showsCauses?: boolean
  readonly remedy?: Remedy
  /** How long to wait when the answer does not say it. */
  readonly waitSeconds?: number
}

/** Every code of the broker and of the upstream behind it. A code decides, never the words beside it. */
const BY_CODE: Readonly<Record<string, Rule>> = {
  E0000001: { text: 'Something in this form is not right.', showsCauses: true },
  E0000003: { text: 'This page is out of date. Please reload it.' },
  E0000004: { text: 'That user name and password do not fit. Please try again.' },
  E0000005: { text: 'You are signed out.', remedy: 'sign-in' },
  E0000006: { text: 'You are not allowed to do that.', showsCauses: true },
  E0000007: { text: 'That is not there any more.' },
  E0000009: { text: 'The sign-in service has trouble. Please try again in a moment.' },
  E0000011: {
    text: 'That took too long, or the link was used already. Please start again.',
    remedy: 'sign-in',
  },
  E0000014: { text: 'That password cannot be used.', showsCauses: true },
  E0000021: { text: 'This page is out of date. Please reload it.' },
  E0000022: { text: 'This page is out of date. Please reload it.' },
  E0000047: { text: 'Too many attempts.', waitSeconds: 30 },
  E0000068: { text: 'That is not the right code or answer. Please try again.' },
  E0000069: {
    text: 'Too many wrong attempts: this way is locked. Choose another one, or ask your help desk.',
  },
  E0000079: { text: 'This step is not possible now. Please start again.', remedy: 'sign-in' },
  E0000082: { text: 'Each code can be used once. Please wait for the next one.' },
  E0000083: { text: 'That code is too old. Please enter the one that is shown now.' },
  E0000087: { text: 'That is not the right answer. Please try again.' },
  E0000095: { text: 'This account cannot be recovered here. Please ask your help desk.' },
  E0000109: { text: 'We have just sent you a text message; it may still be on its way.', waitSeconds: 30 },
  E0000119: { text: 'Your account is locked. Please ask your help desk.' },
  E0000133: { text: 'We have just called you.', waitSeconds: 30 },
  pam_user_unknown: { text: 'You have no privileged access.' },
  pam_rate_limited: { text: 'The access service is busy.', waitSeconds: 10 },
  pam_timeout: { text: 'The access service did not answer in time.' },
  pam_unavailable: { text: 'The access service cannot be reached just now.' },
  network: { text: 'The portal cannot be reached. Are you online?' },
}

const COOKIE_MISSING = 'Your browser did not send our cookie back. Please allow cookies for this site.'
const OTHER_SESSION = 'Another sign-in has taken place in this browser.'

export function adviceFor(error: unknown): Advice {
  if (!(error instanceof BrokerTrouble)) {
    return { text: error instanceof Error ? error.message : 'Something went wrong.', causes: [] }
  }
  if (error.status === 409) return { text: OTHER_SESSION, causes: [], remedy: 'look-again' }
  const rule = BY_CODE[error.code] ?? ruleForStatus(error)
  const isCookieMissing = error.code === 'E0000011' && error.causes.includes('device cookie not returned')
  const wait = error.waitSeconds ?? rule.waitSeconds
  return {
    text: [
      isCookieMissing ? COOKIE_MISSING : rule.text,
      wait === undefined ? '' : `Please wait ${wait} second${wait === 1 ? '' : 's'}.`,
    ]
      .join(' ')
      .trim(),
    causes: rule.showsCauses === true ? error.causes : [],
    ...(rule.remedy === undefined ? {} : { remedy: rule.remedy }),
    ...(wait === undefined ? {} : { waitSeconds: wait }),
  }
}

/** A code that nobody has told us about. */
function ruleForStatus({ status, code, message }: BrokerTrouble): Rule {
  if (status === 401) return { text: 'Please sign in again.', remedy: 'sign-in' }
  if (code.startsWith('pam_')) return { text: 'The access service has trouble. Please try again later.' }
  if (status >= 500) return { text: 'The sign-in service has trouble. Please try again in a moment.' }
  return { text: message === '' ? 'Something went wrong.' : message, showsCauses: true }
}
