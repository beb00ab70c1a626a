import type { Credentials, SignInStep } from 'gatehouse-client'
import { Heading } from '../heading.tsx'
import { onFields } from './fields.ts'
import type { StepProps } from './sign-in.tsx'

interface EnterPasswordProps extends StepProps {
  readonly signIn: (credentials: Credentials) => Promise<SignInStep>
}

export function EnterPassword({ signIn, isBusy, take }: EnterPasswordProps) {
  return (
    <form onSubmit={onFields(['username', 'password'], (fields) => take(() => signIn(fields)))}>
      <Heading>Sign in</Heading>
      <label>
        Username <input name="username" autoComplete="username" autoCapitalize="none" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button type="submit" disabled={isBusy}>
        Sign in
      </button>
    </form>
  )
}
