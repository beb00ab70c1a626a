import type { ChangeElsewhere, PasswordExpired, PasswordReset, PasswordWarn } from 'gatehouse-client'
import { signIn } from '../gatehouse.ts'
import { fillText } from '../language/fill.ts'
import { language, messages, texts } from '../language/language.ts'
import { Checkbox, HiddenUsername, PasswordField } from '../parts/fields.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { type CheckedRule, NewPasswordField } from './new-password-field.tsx'
import { isMet } from './password-check.ts'
import { Ways } from './ways.tsx'

type PasswordStep = PasswordExpired | PasswordWarn | PasswordReset

/** A password that has expired, that will expire soon, or that is set again. */
export function ChangePassword({ step }: { readonly step: PasswordStep }) {
  if (step.status !== 'PASSWORD_RESET' && step.next === 'redirect') return <ElsewhereScreen step={step} />
  return <ChangeForm step={step} />
}

/** Another application manages the password. The sign-in ends here: its password is the old one. */
function ElsewhereScreen({ step }: { readonly step: PasswordStep & ChangeElsewhere }) {
  const { redirectUrl, site = new URL(redirectUrl).host } = step
  async function leave() {
    await step.cancel().catch(() => undefined) // it expires by itself
    location.assign(redirectUrl)
  }
  return (
    <Screen title={titleOf(step)}>
      <p>{texts.passwordElsewhere}</p>
      <Form submit={fillText(texts.changeElsewhere, { site })} onSubmit={leave} more={<Ways step={step} />} />
    </Screen>
  )
}

type FormStep = Exclude<PasswordStep, ChangeElsewhere>

function ChangeForm({ step }: { readonly step: FormStep }) {
  const { user } = step.answer._embedded
  return (
    <Screen title={titleOf(step)}>
      <Form
        submit={texts.changePassword}
        onSubmit={(values) => signIn.run(() => change(step, values))}
        more={<Ways step={step} />}
      >
        <HiddenUsername login={user.profile?.login} />
        {step.status !== 'PASSWORD_RESET' && (
          <PasswordField name="oldPassword" label={texts.currentPassword} which="current" />
        )}
        <NewPasswordField rules={rulesFor(step)} />
        <Checkbox name="revokeSessions" label={texts.signOutElsewhere} isChecked={isForgotten(step)} />
      </Form>
    </Screen>
  )
}

/**
 * As at Gatehouse and Okta: a new password for a forgotten one signs out everywhere else by
 * default.
 */
function isForgotten({ status, answer }: FormStep): boolean {
  return status === 'PASSWORD_RESET' && answer.recoveryType === 'PASSWORD'
}

function change(step: FormStep, { oldPassword = '', newPassword = '', revokeSessions }: Values) {
  const reset = { newPassword, revokeSessions: revokeSessions !== undefined }
  if (step.status === 'PASSWORD_RESET') return step.resetPassword(reset)
  return step.changePassword({ ...reset, oldPassword })
}

function titleOf(step: PasswordStep): string {
  if (step.status === 'PASSWORD_RESET') return texts.choosePassword
  if (step.status === 'PASSWORD_EXPIRED') return texts.passwordExpired
  const days = step.answer._embedded.policy?.expiration?.passwordExpireDays
  const when =
    typeof days === 'number'
      ? new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(days, 'day')
      : texts.soon
  return fillText(texts.passwordExpires, { when })
}

function rulesFor({ answer }: FormStep): CheckedRule[] {
  const { user, policy } = answer._embedded
  return messages
    .describePasswordPolicy(policy)
    .map((rule) => ({ ...rule, isMetBy: (password) => isMet(rule, password, user.profile ?? {}) }))
}
