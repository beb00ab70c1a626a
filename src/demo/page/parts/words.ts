/** The broker's cause when the link of a mail is not for the user who is signed in here; its field's name is left out. */
export const OTHER_USER = 'this sign-in is of another user than the open session; sign out first'

/**
 * What people are told, by status, error code or `factorResult`; of other codes, what the answer itself says. A colon
 * at the end: the causes follow.
 */
export const WORDS: Readonly<Record<string, string>> = {
  0: 'The portal cannot be reached. Are you online?',
  409: 'Another sign-in has taken place in this browser.',
  E0000001: 'Something in this form is not right:',
  E0000004: 'Incorrect user name or password. Please try again.',
  E0000005: 'You are signed out.',
  E0000009: 'The sign-in service is not available. Please try again in a moment.',
  E0000011: 'That took too long, or the link was used already. Please start again.',
  E0000014: 'That password cannot be used:',
  E0000047: 'Too many attempts.',
  E0000068: 'That is not the right code or answer. Please try again.',
  E0000069: 'Too many wrong attempts. This factor is locked for now.',
  E0000079: 'This step is not possible now. Please start again.',
  E0000087: 'That is not the right answer. Please try again.',
  E0000095: 'This account cannot be recovered here. Please ask your help desk.',
  E0000109: 'We have just sent you a text message; it may still be on its way.',
  E0000133: 'We have just called you.',
  'device cookie not returned':
    'Your browser did not send our cookie back. Please allow cookies for this site.',
  [OTHER_USER]: 'Another user is signed in in this browser. Sign out first, then open the link again.',
  REJECTED: 'The request was refused on the phone.',
  TIMEOUT: 'Nobody answered the request in time.',
  CANCELLED: 'The request was cancelled.',
  FAILED: 'The other page did not sign you in.',
  ERROR: 'The request could not be delivered.',
  PASSCODE_REPLAYED: 'Each code can be used once. Please wait for the next one.',
  TIME_WINDOW_EXCEEDED: 'That code is too old. Please enter the one that is shown now.',
}
