/**
 * What people are told, by status, error code or `factorResult`; of other codes, what the answer itself says. A colon
 * at the end: the causes follow.
 */
export const WORDS: Readonly<Record<string, string>> = {
  0: 'The portal cannot be reached. Are you online?',
  409: 'Another sign-in has taken place in this browser.',
  E0000001: 'Something in this form is not right:',
  E0000004: 'That user name and password do not fit. Please try again.',
  E0000005: 'You are signed out.',
  E0000009: 'The sign-in service has trouble. Please try again in a moment.',
  E0000011: 'That took too long, or the link was used already. Please start again.',
  E0000014: 'That password cannot be used:',
  E0000047: 'Too many attempts.',
  E0000068: 'That is not the right code or answer. Please try again.',
  E0000069: 'Too many wrong attempts: this way is locked. Please choose another one.',
  E0000079: 'This step is not possible now. Please start again.',
  E0000087: 'That is not the right answer. Please try again.',
  E0000095: 'This account cannot be recovered here. Please ask your help desk.',
  E0000109: 'We have just sent you a text message; it may still be on its way.',
  E0000133: 'We have just called you.',
  'device cookie not returned':
    'Your browser did not send our cookie back. Please allow cookies for this site.',
  REJECTED: 'The request was refused on the phone.',
  TIMEOUT: 'Nobody answered the request in time.',
  CANCELLED: 'The request was cancelled.',
  ERROR: 'The request could not be delivered.',
  PASSCODE_REPLAYED: 'Each code can be used once. Please wait for the next one.',
  TIME_WINDOW_EXCEEDED: 'That code is too old. Please enter the one that is shown now.',
}

/** An Error object of the broker, or of the upstream behind it, as it is told to people. */
export class Trouble extends Error {
  readonly status: number
  readonly causes: readonly string[]
  /** What was begun is over: the page starts again. */
  readonly isOver: boolean
  readonly waitSeconds: number | undefined

  constructor(
    response: Response,
    { errorCode = 'E0000009', errorSummary = '', errorCauses = [] }: Said = {},
  ) {
    const { status } = response
    const causes = errorCauses.map((cause) => cause.errorSummary)
    const words = WORDS[status] ?? WORDS[causes[0] ?? ''] ?? WORDS[errorCode]
    const waitSeconds = waitOf(response)
    const wait = waitSeconds === undefined ? '' : ` Please wait ${SECONDS.format(waitSeconds)}.`
    super((words ?? errorSummary) + wait)
    this.status = status
    this.causes = words === undefined || words.endsWith(':') ? causes : []
    this.isOver = status === 409 || errorCode === 'E0000079' || (status === 401 && errorCode !== 'E0000004')
    this.waitSeconds = waitSeconds
  }
}
interface Said {
  readonly errorCode?: string
  readonly errorSummary?: string
  readonly errorCauses?: readonly { readonly errorSummary: string }[]
}

const SECONDS = new Intl.NumberFormat('en', { style: 'unit', unit: 'second', unitDisplay: 'long' })

/** `Retry-After`; of a limit of the upstream's, until the time at which it ends: that header stands in every answer. */
function waitOf({ headers, status }: Response): number | undefined {
  const now = Date.parse(headers.get('date') ?? '') / 1000
  const untilReset = Math.ceil(Number(headers.get('x-rate-limit-reset')) - now)
  const limit = untilReset > 0 ? untilReset : 30
  return Number(headers.get('retry-after')) || (status === 429 ? limit : undefined)
}
