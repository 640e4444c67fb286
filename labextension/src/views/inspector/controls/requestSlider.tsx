/** A picture over all requests that the cursor is moved on, by pointer and by keys. */
import {
  useState,
  type PointerEvent,
  type ReactNode,
  type RefObject
} from 'react';
import { useInspection } from './inspection';
import { requestStep } from './requestKeys';

interface IRequestSliderProps {
  /** The name and the value for screen readers. */
  name: string;
  value: string;
  /** How many requests the picture shows. */
  total: number;
  /** The width of the picture, in CSS pixels. */
  width: number;
  place: RefObject<HTMLDivElement>;
  /** Returns the text beside the pointer about the request under it. */
  hint: (request: number) => string;
  /** The picture. */
  children: ReactNode;
}

/** Draws the picture, the cursor, and beside a mouse what is under it. */
export function RequestSlider(props: IRequestSliderProps) {
  const { name, value, total, width, place, hint, children } = props;
  const { request: chosen, go } = useInspection();
  const [hovered, setHovered] = useState<number | null>(null);
  // The track of a policy may end before a request that has just been sent.
  const request = Math.min(chosen, total - 1);
  const requestAt = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * total);
    return box.width > 0 ? Math.min(Math.max(index, 0), total - 1) : null;
  };
  const moveTo = (to: number | null) => {
    if (to !== null) {
      go({ request: to, against: null });
    }
  };
  const leave = () => {
    setHovered(null);
  };
  return (
    <div
      className="plm-Track-plot"
      ref={place}
      role="slider"
      tabIndex={0}
      aria-label={name}
      aria-valuemin={1}
      aria-valuemax={total}
      aria-valuenow={request + 1}
      aria-valuetext={value}
      onPointerDown={event => {
        if (event.button === 0) {
          event.currentTarget.setPointerCapture(event.pointerId);
          moveTo(requestAt(event));
        }
      }}
      onPointerMove={event => {
        if (event.buttons === 1) {
          moveTo(requestAt(event));
        }
        // A finger covers what would be said beside it.
        setHovered(event.pointerType === 'touch' ? null : requestAt(event));
      }}
      onPointerLeave={leave}
      onPointerCancel={leave}
      onKeyDown={event => {
        const next = requestStep(event, request, total);
        if (next !== null) {
          event.preventDefault();
          leave();
          moveTo(next);
        }
      }}
    >
      {children}
      <RequestMark
        className="plm-Inspector-cursor"
        {...{ request, total, width }}
      />
      {hovered !== null && hovered < total && (
        <PointerHint
          {...{ total, width }}
          request={hovered}
          text={hint(hovered)}
        />
      )}
    </div>
  );
}

interface IRequestMarkProps {
  request: number;
  total: number;
  width: number;
}

function middle({ request, total, width }: IRequestMarkProps): number {
  return ((request + 0.5) * width) / Math.max(total, 1);
}

function RequestMark({
  className,
  ...place
}: IRequestMarkProps & { className: string }) {
  return (
    <span
      className={className}
      style={{ transform: `translateX(${middle(place).toFixed(1)}px)` }}
    />
  );
}

/** Draws the text beside the pointer; a screen reader reads the slider's value instead. */
function PointerHint({ text, ...place }: IRequestMarkProps & { text: string }) {
  const x = middle(place);
  const isLeft = x > place.width / 2;
  return (
    <span aria-hidden="true">
      <RequestMark className="plm-Track-under" {...place} />
      <span
        className="plm-Track-hint"
        style={isLeft ? { right: place.width - x + 6 } : { left: x + 6 }}
      >
        {text}
      </span>
    </span>
  );
}
