import type { ReactNode } from 'react'
import { signIn } from '../gatehouse.ts'
import { texts } from '../language/language.ts'
import { username } from '../page.ts'
import { Field, PasswordField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'

export function Credentials({ more }: { readonly more?: ReactNode }) {
  return (
    <Form
      submit={texts.signIn}
      onSubmit={({ username = '', password = '' }) => signIn.signIn({ username, password })}
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
