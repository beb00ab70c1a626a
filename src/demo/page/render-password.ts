import { linkOf, type Transaction } from './broker.js'
import { element, list } from './elements.js'
import { type Field, form, showTyping } from './forms.js'
import { show } from './screen.js'
import { type Render, type Steps, unknown, waysOut } from './steps.js'

const OLD: Field = {
  name: 'oldPassword',
  label: 'Current password',
  type: 'password',
  autocomplete: 'current-password',
}
const NEW: Field = {
  name: 'newPassword',
  label: 'New password',
  type: 'password',
  autocomplete: 'new-password',
}

export const expiredPassword: Render = (transaction, steps) =>
  choosePassword(transaction, steps, 'Your password has expired', [OLD, NEW])

export const expiringPassword: Render = (transaction, steps) => {
  const days = transaction._embedded?.policy?.expiration?.passwordExpireDays
  const when = days === undefined ? 'soon' : days === 1 ? 'tomorrow' : `in ${days} days`
  choosePassword(transaction, steps, `Your password expires ${when}`, [OLD, NEW])
}

export const resetPassword: Render = (transaction, steps) =>
  choosePassword(transaction, steps, 'Choose a new password', [NEW])

function choosePassword(
  transaction: Transaction,
  steps: Steps,
  title: string,
  fields: readonly Field[],
): void {
  const next = linkOf(transaction, 'next')
  if (next === undefined) {
    unknown(transaction, steps)
    return
  }
  const rules = rulesOf(transaction)
  const made = form({
    fields,
    checkboxes: [{ name: 'revokeSessions', label: 'Sign me out everywhere else' }],
    submit: 'Change password',
    others: waysOut(transaction, steps, { skip: 'Not now' }),
    onSubmit: ({ revokeSessions, ...passwords }) =>
      steps.take(transaction, next, {
        ...passwords,
        ...(revokeSessions === 'true' ? { revokeSessions: true } : {}),
      }),
  })
  made.querySelector('.check')?.before(showTyping())
  show(
    title,
    rules.length > 0 && element('p', {}, 'A new password has to have:'),
    rules.length > 0 && list(rules),
    made,
  )
}

/** The policy of the answer in words; what it does not ask for is left out. */
function rulesOf({ _embedded }: Transaction): string[] {
  const asked = { ..._embedded?.policy?.complexity, ..._embedded?.policy?.age }
  return Object.entries(asked).flatMap(([name, value]) => {
    const rule = RULES[name]
    return rule === undefined || value === 0 || value === false ? [] : [rule(Number(value))]
  })
}

const RULES: Readonly<Record<string, (count: number) => string>> = {
  minLength: (count) => `at least ${count} characters`,
  minLowerCase: (count) => `${count} small letter${plural(count)}`,
  minUpperCase: (count) => `${count} capital letter${plural(count)}`,
  minNumber: (count) => `${count} number${plural(count)}`,
  minSymbol: (count) => `${count} symbol${plural(count)}, such as ! or ?`,
  excludeUsername: () => 'no part of your user name',
  historyCount: (count) => `nothing you had among your last ${count} passwords`,
  minAgeMinutes: (count) => `${count} minutes to stay in use`,
}

function plural(count: number): string {
  return count === 1 ? '' : 's'
}
