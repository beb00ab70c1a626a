import type { AppliedRule } from 'gatehouse-client/messages'
import { useId, useState } from 'react'
import { fillText } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { MESSAGE_ID, PasswordField } from '../parts/fields.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'

/** A rule of the password policy, with its text. */
export interface CheckedRule extends AppliedRule {
  readonly text: string
  /** Undefined: this page cannot tell. */
  isMetBy(password: string): boolean | undefined
}

/** The rules are ticked while the user types. */
export function NewPasswordField({ rules }: { readonly rules: readonly CheckedRule[] }) {
  const id = useId()
  const [password, setPassword] = useState('')
  return (
    <>
      <PasswordField
        name="newPassword"
        label={texts.newPassword}
        which="new"
        aria-describedby={`${MESSAGE_ID} ${id}`}
        onInput={(event) => setPassword(event.currentTarget.value)}
      />
      {rules.length > 0 && <Rules id={id} rules={rules} password={password} />}
    </>
  )
}

interface RulesProps {
  readonly id: string
  readonly rules: readonly CheckedRule[]
  readonly password: string
}

function Rules({ id, rules, password }: RulesProps) {
  const results = rules.map(({ key, text, isMetBy }) => ({ key, text, isMet: isMetBy(password) }))
  const known = results.filter(({ isMet }) => isMet !== undefined)
  const met = known.filter(({ isMet }) => isMet)
  return (
    <div className="rules">
      <p>{texts.passwordNeeds}</p>
      <ul id={id}>
        {results.map(({ key, text, isMet }) => (
          <li key={key} className={isMet ? 'met' : undefined}>
            <Icon name={iconOf(isMet)} />
            <span>
              {text}
              {isMet !== undefined && (
                <span className="unseen"> ({isMet ? texts.ruleMet : texts.ruleNotMet})</span>
              )}
            </span>
          </li>
        ))}
      </ul>
      <p role="status" className="unseen">
        {password && fillText(texts.rulesMet, { n: met.length, total: known.length })}
      </p>
    </div>
  )
}

function iconOf(isMet: boolean | undefined): IconName {
  if (isMet === undefined) return 'point'
  return isMet ? 'met' : 'notMet'
}
