import type { PasswordExpired, PasswordWarn } from 'gatehouse-client'
import { Heading } from '../heading.tsx'
import { onFields } from './fields.ts'
import type { StepProps } from './sign-in.tsx'

interface ChangePasswordProps extends StepProps {
  readonly step: PasswordWarn | PasswordExpired
}

export function ChangePassword({ step, isBusy, take }: ChangePasswordProps) {
  const skip = step.status === 'PASSWORD_WARN' ? step.skip : undefined
  return (
    <form
      onSubmit={onFields(['oldPassword', 'newPassword'], (fields) => take(() => step.changePassword(fields)))}
    >
      <Heading>{skip ? 'Your password expires soon' : 'Your password has expired'}</Heading>
      <label>
        Current password <input name="oldPassword" type="password" autoComplete="current-password" required />
      </label>
      <label>
        New password <input name="newPassword" type="password" autoComplete="new-password" required />
      </label>
      <button type="submit" disabled={isBusy}>
        Change password
      </button>
      {skip && (
        <button type="button" disabled={isBusy} onClick={() => take(skip)}>
          Later
        </button>
      )}
    </form>
  )
}
