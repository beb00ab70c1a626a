import { BrokerTrouble } from './call.js'

/** What a person is told about an error, and what the page does about it. */
export interface Advice {
  readonly text: string
  /** The sentences beside the code say what exactly is wrong. */
  readonly showsCauses?: boolean
  /** What was begun is over: the page starts again. */
  readonly isOver?: boolean
  /** How long to wait; in the table, when the answer does not say it. */
  readonly waitSeconds?: number | undefined
}

const OUT_OF_DATE: Advice = { text: 'This page is out of date. Please reload it.' }
const REUSED: Advice = { text: 'Each code can be used once. Please wait for the next one.' }
const TOO_OLD: Advice = { text: 'That code is too old. Please enter the one that is shown now.' }

/** Every code of the broker and of the upstream behind it. A code decides, never the words beside it. */
const BY_CODE: Readonly<Record<string, Advice>> = {
  E0000001: { text: 'Something in this form is not right.', showsCauses: true },
  E0000003: OUT_OF_DATE,
  E0000004: { text: 'That user name and password do not fit. Please try again.' },
  E0000005: { text: 'You are signed out.', isOver: true },
  E0000006: { text: 'You are not allowed to do that.', showsCauses: true },
  E0000007: { text: 'That is not there any more.' },
  E0000009: { text: 'The sign-in service has trouble. Please try again in a moment.' },
  E0000011: { text: 'That took too long, or the link was used already. Please start again.', isOver: true },
  E0000014: { text: 'That password cannot be used.', showsCauses: true },
  E0000021: OUT_OF_DATE,
  E0000022: OUT_OF_DATE,
  E0000047: { text: 'Too many attempts.', waitSeconds: 30 },
  E0000068: { text: 'That is not the right code or answer. Please try again.' },
  E0000069: { text: 'Too many wrong attempts: this way is locked. Please choose another one.' },
  E0000079: { text: 'This step is not possible now. Please start again.', isOver: true },
  E0000082: REUSED,
  E0000083: TOO_OLD,
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

/** `factorResult`: how it went, where that is no error. */
export const RESULTS: Readonly<Record<string, Advice>> = {
  REJECTED: { text: 'The request was refused on the phone.' },
  TIMEOUT: { text: 'Nobody answered the request in time.' },
  CANCELLED: { text: 'The request was cancelled.' },
  ERROR: { text: 'The request could not be delivered.' },
  PASSCODE_REPLAYED: REUSED,
  TIME_WINDOW_EXCEEDED: TOO_OLD,
}

export function adviceFor(error: unknown): Advice {
  if (!(error instanceof BrokerTrouble))
    return { text: error instanceof Error ? error.message : 'Something went wrong.' }
  const advice = adviceForTrouble(error)
  const { waitSeconds = advice.waitSeconds } = error
  if (waitSeconds === undefined) return advice
  return {
    ...advice,
    waitSeconds,
    text: `${advice.text} Please wait ${waitSeconds} second${waitSeconds === 1 ? '' : 's'}.`,
  }
}

function adviceForTrouble({ status, code, causes, message }: BrokerTrouble): Advice {
  if (status === 409) return { text: 'Another sign-in has taken place in this browser.', isOver: true }
  if (code === 'E0000011' && causes.includes('device cookie not returned'))
    return {
      text: 'Your browser did not send our cookie back. Please allow cookies for this site.',
      isOver: true,
    }
  if (BY_CODE[code] !== undefined) return BY_CODE[code]
  if (status === 401) return { text: 'Please sign in again.', isOver: true }
  if (code.startsWith('pam_')) return { text: 'The access service has trouble. Please try again later.' }
  if (status >= 500) return { text: 'The sign-in service has trouble. Please try again in a moment.' }
  return { text: message || 'Something went wrong.', showsCauses: true }
}
