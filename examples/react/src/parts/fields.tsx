import { type ComponentProps, useId, useState } from 'react'
import { texts } from '../language/language.ts'
import { Icon } from './icon.tsx'

/** The page's message, which describes the fields. */
export const MESSAGE_ID = 'message'

interface FieldProps extends ComponentProps<'input'> {
  readonly name: string
  readonly label: string
}

/** By default a required text field. */
export function Field({ label, ...input }: FieldProps) {
  return (
    <label>
      <bdi>{label}</bdi>
      <input required aria-describedby={MESSAGE_ID} dir="auto" {...input} />
    </label>
  )
}

/** A code, such as one of an app. */
export function CodeField() {
  const digits = { inputMode: 'numeric', maxLength: 10, autoComplete: 'one-time-code' } as const
  return <Field name="passCode" label={texts.code} className="digits" {...digits} />
}

/**
 * The passcode of a token: its code, perhaps after a PIN, or the long text that a YubiKey types.
 */
export function PasscodeField({ label }: { readonly label: string }) {
  return (
    <Field name="passCode" label={label} type="password" className="digits" autoComplete="one-time-code" />
  )
}

interface PasswordFieldProps extends ComponentProps<'input'> {
  readonly name: string
  readonly label: string
  readonly which: 'current' | 'new'
}

/** The button is not in the label: a click on the label goes to the field. */
export function PasswordField({ label, which, ...input }: PasswordFieldProps) {
  const id = useId()
  const [isShown, setIsShown] = useState(false)
  return (
    <>
      <label htmlFor={id}>
        <bdi>{label}</bdi>
      </label>
      <div className="password">
        <input
          id={id}
          type={isShown ? 'text' : 'password'}
          required
          aria-describedby={MESSAGE_ID}
          autoComplete={`${which}-password`}
          dir="auto"
          {...input}
        />
        <button type="button" aria-pressed={isShown} onClick={() => setIsShown(!isShown)}>
          <Icon name={isShown ? 'hide' : 'show'} />
          <span className="unseen">{texts.showPassword}</span>
        </button>
      </div>
    </>
  )
}

/** Tells password managers whose password it is. It is not sent. */
export function HiddenUsername({ login }: { readonly login: string | null | undefined }) {
  return <input autoComplete="username" defaultValue={login ?? ''} readOnly hidden />
}

interface CheckboxProps {
  readonly name: string
  readonly label: string
  readonly isChecked?: boolean
}

export function Checkbox({ name, label, isChecked = false }: CheckboxProps) {
  return (
    <label>
      {label}
      <input type="checkbox" name={name} defaultChecked={isChecked} />
    </label>
  )
}

interface SelectProps {
  readonly name: string
  readonly label: string
  readonly options: readonly (readonly [value: string, shown: string])[]
}

export function Select({ name, label, options }: SelectProps) {
  return (
    <label>
      <bdi>{label}</bdi>
      <select name={name} required aria-describedby={MESSAGE_ID} dir="auto">
        {options.map(([value, shown]) => (
          <option key={value} value={value} dir="auto">
            {shown}
          </option>
        ))}
      </select>
    </label>
  )
}
