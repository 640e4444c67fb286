/** A field for the number of a request. */
import { useState } from 'react';
import { useInspectedSession } from './inspection';

interface IRequestFieldProps {
  /** Counted from 0. */
  request: number;
  onRequest: (request: number) => void;
}

/**
 * Draws the field. What is being written stays as it is written, though it may be no request yet: the cursor
 * moves as soon as it is one, and the field says where it is when it is left, or when Enter is pressed.
 */
export function RequestField({ request, onRequest }: IRequestFieldProps) {
  const { view } = useInspectedSession();
  const [typedText, setTypedText] = useState<string | null>(null);
  const total = view.requests.id.length;
  const leaveField = () => {
    setTypedText(null);
  };
  return (
    <>
      <input
        className="plm-Field"
        type="number"
        min={1}
        max={total}
        value={typedText ?? request + 1}
        onChange={event => {
          const typedRequest = Number(event.target.value) - 1;
          setTypedText(event.target.value);
          if (
            Number.isInteger(typedRequest) &&
            typedRequest >= 0 &&
            typedRequest < total
          ) {
            onRequest(typedRequest);
          }
        }}
        onBlur={leaveField}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            leaveField();
          }
        }}
      />
      {/* On paper a field may cut its number. */}
      <strong className="plm-Inspector-printedNumber" aria-hidden="true">
        {request + 1}
      </strong>
    </>
  );
}
