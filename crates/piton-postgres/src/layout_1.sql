CREATE TABLE "{schema}".layout (
    only_row boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row),
    version  bigint  NOT NULL
);

CREATE TABLE "{schema}".checkpoint_chain (
    workflow_id   text COLLATE "C" NOT NULL,
    sequence      bigint           NOT NULL CHECK (sequence > 0),
    transition_id text COLLATE "C" NOT NULL,
    prior_head    bytea            NOT NULL CHECK (octet_length(prior_head) = 32),
    next_head     bytea            NOT NULL CHECK (octet_length(next_head) = 32),
    event_bytes   bytea            NOT NULL,
    written_at    text COLLATE "C" NOT NULL,
    PRIMARY KEY (workflow_id, sequence),
    UNIQUE (workflow_id, transition_id),
    UNIQUE (workflow_id, next_head)
);

CREATE TABLE "{schema}".pin (
    workflow_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence    bigint           NOT NULL CHECK (sequence >= 0),
    head        bytea            NOT NULL CHECK (octet_length(head) = 32)
);

CREATE FUNCTION "{schema}".piton_append(
    appended_workflow   text,
    appended_transition text,
    appended_prior      bytea,
    appended_next       bytea,
    appended_event      bytea,
    appended_at         text
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    appended_sequence bigint;
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF NOT pg_try_advisory_xact_lock_shared(hashtextextended('piton.{schema}.' || appended_workflow, 0)) THEN
        RETURN NULL;
    END IF;
    IF appended_prior = decode(repeat('00', 32), 'hex') THEN
        INSERT INTO "{schema}".pin AS pin (workflow_id, sequence, head)
        SELECT appended_workflow, 1, appended_next
        WHERE NOT EXISTS (SELECT FROM "{schema}".checkpoint_chain WHERE workflow_id = appended_workflow)
        ON CONFLICT (workflow_id) DO UPDATE SET sequence = 1, head = excluded.head WHERE pin.sequence = 0
        RETURNING pin.sequence INTO appended_sequence;
    ELSE
        UPDATE "{schema}".pin AS pin SET sequence = pin.sequence + 1, head = appended_next
        FROM "{schema}".checkpoint_chain AS tail
        WHERE pin.workflow_id = appended_workflow AND pin.head = appended_prior
            AND tail.workflow_id = appended_workflow AND tail.sequence = pin.sequence
            AND tail.next_head = appended_prior
            AND NOT EXISTS (
                SELECT FROM "{schema}".checkpoint_chain
                WHERE workflow_id = appended_workflow AND transition_id = appended_transition)
        RETURNING pin.sequence INTO appended_sequence;
    END IF;
    IF appended_sequence IS NOT NULL THEN
        INSERT INTO "{schema}".checkpoint_chain
            (workflow_id, sequence, transition_id, prior_head, next_head, event_bytes, written_at)
        VALUES
            (appended_workflow, appended_sequence, appended_transition, appended_prior, appended_next,
             appended_event, appended_at);
    END IF;
    RETURN appended_sequence;
END
$function$;

CREATE FUNCTION "{schema}".piton_catch_up(
    lagging_workflow text,
    lagging_sequence bigint,
    lagging_head     bytea,
    tail_sequence    bigint,
    tail_head        bytea
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    reached bigint;
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF NOT pg_try_advisory_xact_lock_shared(hashtextextended('piton.{schema}.' || lagging_workflow, 0)) THEN
        RETURN NULL;
    END IF;
    UPDATE "{schema}".pin AS pin SET sequence = tail.sequence, head = tail.next_head
    FROM "{schema}".checkpoint_chain AS tail
    WHERE pin.workflow_id = lagging_workflow AND pin.sequence = lagging_sequence AND pin.head = lagging_head
        AND tail.workflow_id = lagging_workflow AND tail.sequence = tail_sequence
        AND tail.sequence > pin.sequence AND tail.next_head = tail_head
        AND (pin.sequence = 0 OR EXISTS (
            SELECT FROM "{schema}".checkpoint_chain AS pinned
            WHERE pinned.workflow_id = lagging_workflow AND pinned.sequence = lagging_sequence
                AND pinned.next_head = lagging_head))
    RETURNING pin.sequence INTO reached;
    RETURN reached;
END
$function$;

REVOKE ALL ON FUNCTION "{schema}".piton_append(text, text, bytea, bytea, bytea, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION "{schema}".piton_catch_up(text, bigint, bytea, bigint, bytea) FROM PUBLIC;

INSERT INTO "{schema}".layout (version) VALUES (1);
