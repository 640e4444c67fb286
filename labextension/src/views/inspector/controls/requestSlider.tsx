/** A picture over all requests that the cursor is moved on, by pointer and by keys. */
import {
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject
} from 'react';
import {
  rangeBetween,
  rangeMovedTo,
  rangeWithin,
  type IRequestRange
} from '../../../state/inspector/figures/rangeFigures';
import type { MoveWay } from '../../../state/inspector/placeSteps';
import { useInspection } from './inspection';
import { requestAfterKey } from './requestKeys';

interface IRequestSliderProps {
  /** The name and the value for screen readers. */
  name: string;
  value: string;
  /** How many requests the picture shows. */
  total: number;
  /** The width of the picture, in CSS pixels. */
  width: number;
  elementRef: RefObject<HTMLDivElement>;
  /** Returns the text beside the pointer about the request under it. */
  hintText: (request: number) => string;
  /** The picture. */
  children: ReactNode;
}

/** A button of the pointer, or a finger, that was moved less far has not chosen a range. */
const MIN_BRUSH_PX = 4;

/** A pointer that is held down on the picture. */
interface IHeldPointer {
  /** Where the range begins that it chooses. */
  readonly anchor: number;
  readonly startX: number;
  /** The range so far; null while it has moved the cursor alone. */
  range: IRequestRange | null;
}

/**
 * Draws the picture, the cursor, the chosen range, and beside a mouse what is under it. A click moves the cursor; a
 * drag, Shift with a click or with the keys of the cursor choose a range, which Escape lets go.
 */
export function RequestSlider(props: IRequestSliderProps) {
  const { name, value, total, width, elementRef, hintText, children } = props;
  const {
    request: cursorRequest,
    goTo,
    brushedRange,
    chooseRange
  } = useInspection();
  const [hoveredRequest, setHoveredRequest] = useState<number | null>(null);
  const heldPointer = useRef<IHeldPointer | null>(null);
  // The track of a policy may end before a request that has just been sent.
  const request = Math.min(cursorRequest, total - 1);
  const requestAt = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * total);
    return box.width > 0 ? Math.min(Math.max(index, 0), total - 1) : null;
  };
  const moveTo = (target: number, way: MoveWay) => {
    goTo({ request: target, against: null }, way);
  };
  const hideHint = () => {
    setHoveredRequest(null);
  };
  const handlePress = (event: PointerEvent<HTMLDivElement>) => {
    const pressedRequest = requestAt(event);
    if (event.button !== 0 || pressedRequest === null) {
      return;
    }
    event.currentTarget.setPointerCapture(event.pointerId);
    const range = event.shiftKey
      ? rangeMovedTo(brushedRange, request, pressedRequest)
      : null;
    const anchor =
      range?.first === pressedRequest
        ? range.last
        : (range?.first ?? pressedRequest);
    heldPointer.current = { anchor, startX: event.clientX, range };
    if (range !== null) {
      chooseRange(range, 'brush');
    }
    moveTo(pressedRequest, 'press');
  };
  const handleDrag = (event: PointerEvent<HTMLDivElement>) => {
    const draggedRequest = requestAt(event);
    const pointer = heldPointer.current;
    if (event.buttons !== 1 || draggedRequest === null || pointer === null) {
      return;
    }
    const isMoved =
      draggedRequest !== pointer.anchor &&
      Math.abs(event.clientX - pointer.startX) > MIN_BRUSH_PX;
    if (pointer.range !== null || isMoved) {
      pointer.range = rangeBetween(pointer.anchor, draggedRequest);
      chooseRange(pointer.range, 'brush');
    }
    moveTo(draggedRequest, 'drag');
  };
  const handleRelease = () => {
    const range = heldPointer.current?.range ?? null;
    heldPointer.current = null;
    if (range !== null) {
      chooseRange(range, 'drag');
    }
  };
  const handleKey = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === 'Escape' && brushedRange !== null) {
      event.preventDefault();
      heldPointer.current = null;
      chooseRange(null);
      return;
    }
    const nextRequest = requestAfterKey(event, request, total);
    if (nextRequest === null) {
      return;
    }
    event.preventDefault();
    hideHint();
    if (event.shiftKey && nextRequest !== request) {
      chooseRange(rangeMovedTo(brushedRange, request, nextRequest), 'walk');
    }
    moveTo(nextRequest, 'walk');
  };
  return (
    <div
      className="plm-Track-plot"
      ref={elementRef}
      role="slider"
      tabIndex={0}
      aria-label={name}
      aria-valuemin={1}
      aria-valuemax={total}
      aria-valuenow={request + 1}
      aria-valuetext={value}
      onPointerDown={handlePress}
      onPointerMove={event => {
        handleDrag(event);
        // A finger covers what would be said beside it.
        setHoveredRequest(
          event.pointerType === 'touch' ? null : requestAt(event)
        );
      }}
      onPointerLeave={hideHint}
      onPointerUp={handleRelease}
      onPointerCancel={() => {
        hideHint();
        handleRelease();
      }}
      onKeyDown={handleKey}
    >
      {children}
      <RangeMark
        range={rangeWithin(brushedRange, total)}
        {...{ total, width }}
      />
      <RequestMark
        className="plm-Inspector-cursor"
        {...{ request, total, width }}
      />
      {hoveredRequest !== null && hoveredRequest < total && (
        <PointerHint
          {...{ total, width }}
          request={hoveredRequest}
          text={hintText(hoveredRequest)}
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

function middleX({ request, total, width }: IRequestMarkProps): number {
  return ((request + 0.5) * width) / Math.max(total, 1);
}

function RequestMark({
  className,
  ...place
}: IRequestMarkProps & { className: string }) {
  return (
    <span
      className={className}
      style={{ transform: `translateX(${middleX(place).toFixed(1)}px)` }}
    />
  );
}

/** Draws a veil over the requests before and after a range, and a line at both of its ends. */
function RangeMark(props: {
  range: IRequestRange | null;
  total: number;
  width: number;
}) {
  const { range, total, width } = props;
  if (range === null) {
    return null;
  }
  const xOf = (request: number) => (request * width) / Math.max(total, 1);
  return (
    <span aria-hidden="true">
      <span
        className="plm-Track-veil"
        data-side="before"
        style={{ left: 0, width: xOf(range.first) }}
      />
      <span
        className="plm-Track-veil"
        data-side="after"
        style={{ left: xOf(range.last + 1), right: 0 }}
      />
    </span>
  );
}

/** Draws the text beside the pointer; a screen reader reads the slider's value instead. */
function PointerHint({ text, ...place }: IRequestMarkProps & { text: string }) {
  const x = middleX(place);
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
