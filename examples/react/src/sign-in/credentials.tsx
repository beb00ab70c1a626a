import type { Credentials as Given, SignInStep } from 'gatehouse-client'
import type { ReactNode } from 'react'
import { texts } from '../language/language.ts'
import { show, username } from '../page.ts'
import { Field, PasswordField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'

interface CredentialsProps {
  readonly signIn: (credentials: Given) => Promise<SignInStep>
  readonly more?: ReactNode
}

export function Credentials({ signIn, more }: CredentialsProps) {
  return (
    <Form
      submit={texts.signIn}
      onSubmit={({ username = '', password = '' }) => show(signIn({ username, password }))}
      more={more}
    >
      <UsernameField />
      <PasswordField name="password" label={texts.password} which="current" />
    </Form>
  )
}

/** The username is kept from screen to screen. */
export function UsernameField() {
  return (
    <Field
      name="username"
      label={texts.username}
      autoComplete="username"
      defaultValue={username.get()}
      onInput={(event) => username.keep(event.currentTarget.value)}
    />
  )
}
