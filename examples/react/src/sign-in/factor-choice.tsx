import type { Factor } from 'gatehouse-client'
import { texts } from '../language/language.ts'
import { Icon } from '../parts/icon.tsx'
import { useAction } from '../parts/use-action.ts'
import { detailOf, kindOf, nameOf } from './factors.tsx'

interface FactorChoiceProps {
  readonly factor: Factor
  readonly use: 'verify' | 'enroll'
  readonly onPress: () => Promise<void>
}

/** A factor in a list to choose from. */
export function FactorChoice({ factor, use, onPress }: FactorChoiceProps) {
  const { isOff, start } = useAction()
  const detail = detailOf(factor, use)
  const isRequired = use === 'enroll' && factor.enrollment === 'REQUIRED'
  return (
    <button type="button" aria-disabled={isOff} onClick={() => start(onPress)}>
      <Icon name={kindOf(factor)?.icon ?? 'lock'} />
      <span>
        <strong>{nameOf(factor)}</strong> {isRequired && <em>{texts.required}</em>}
        {detail && (
          <>
            {' '}
            <small>
              <bdi>{detail}</bdi>
            </small>
          </>
        )}
      </span>
      <Icon name="open" />
    </button>
  )
}
