

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;


CREATE FUNCTION public.hush_answer_1(what text, place text, name text, moment text, content text, OUT sequence bigint, OUT before text, OUT mark text) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    mark := set_config('synchronous_commit', 'remote_apply', true);
    mark := pg_advisory_xact_lock(7527049261614393189);
    mark := NULL;
    INSERT INTO hush_entry AS e (seq, kind, scope, key, at, body, prev, hash)
    SELECT h.seq + 1, what, place, name, moment, content, h.hash, encode(sha256(convert_to(concat(length((h.seq + 1)::text), ':', (h.seq + 1)::text, length(what), ':', what, length(place), ':', place, length(name), ':', name, length(moment), ':', moment, length(content), ':', content, length(h.hash), ':', h.hash), 'UTF8')), 'hex')
    FROM (SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1) h
    WHERE 1 = (SELECT sum(CASE WHEN o.kind IN ('reserve', 'hold') THEN 1
            WHEN o.kind = 'start' THEN 0 ELSE 9 END)
        FROM hush_entry o WHERE o.scope = place AND o.key = name)
    RETURNING e.seq, e.prev, e.hash INTO sequence, before, mark;
END $$;



CREATE FUNCTION public.hush_charge_1(what text, place text, name text, moment text, content text, payers text, accounts text, units text, most text, OUT sequence bigint, OUT before text, OUT mark text) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    who text[] := string_to_array(accounts, E'\n');
    cost bigint[] := string_to_array(units, ' ');
BEGIN
    mark := set_config('synchronous_commit', 'remote_apply', true);
    mark := pg_advisory_xact_lock(7527049261614393189);
    mark := NULL;
    IF EXISTS (SELECT FROM hush_entry e WHERE e.scope = place AND e.key = name)
    OR EXISTS (SELECT FROM hush_entry e WHERE kind IN ('fail', 'link', 'unlock') AND kind = 'link'
        AND scope = ANY (string_to_array(payers, E'\n')) AND key <> ALL (who))
    THEN RETURN; END IF;
    IF most <> '' THEN
        IF most::bigint <= (
            SELECT count(*) FROM hush_entry
            WHERE kind IN ('fail', 'link', 'unlock') AND kind = 'fail' AND scope = place
            AND seq > (SELECT coalesce(max(seq), 0) FROM hush_entry
                WHERE kind IN ('fail', 'link', 'unlock') AND kind = 'unlock' AND scope = place))
        THEN RETURN; END IF;
    END IF;
    FOR i IN 1 .. cardinality(who) LOOP
        UPDATE hush_account a SET
            spent1 = a.spent1 + cost[2 * i - 1], spent2 = a.spent2 + cost[2 * i]
        WHERE a.name = who[i] AND a.spent1 + cost[2 * i - 1] <= a.limit1
            AND a.spent2 + cost[2 * i] <= a.limit2;
        IF NOT FOUND AND i = 1 THEN RETURN; END IF;
        IF NOT FOUND THEN RAISE SQLSTATE 'HU001'; END IF;
    END LOOP;
    INSERT INTO hush_entry AS e (seq, kind, scope, key, at, body, prev, hash)
    SELECT h.seq + 1, what, place, name, moment, content, h.hash, encode(sha256(convert_to(concat(length((h.seq + 1)::text), ':', (h.seq + 1)::text, length(what), ':', what, length(place), ':', place, length(name), ':', name, length(moment), ':', moment, length(content), ':', content, length(h.hash), ':', h.hash), 'UTF8')), 'hex')
    FROM (SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1) h
    RETURNING e.seq, e.prev, e.hash INTO sequence, before, mark;
END $$;



CREATE FUNCTION public.hush_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;


CREATE TABLE public.hush_account (
    name text NOT NULL,
    notion text NOT NULL,
    power1 bigint NOT NULL,
    power2 bigint NOT NULL,
    delta text NOT NULL,
    limit1 bigint NOT NULL,
    limit2 bigint NOT NULL,
    spent1 bigint DEFAULT 0 NOT NULL,
    spent2 bigint DEFAULT 0 NOT NULL,
    CONSTRAINT hush_account_check CHECK (((spent1 >= 0) AND (spent1 <= limit1))),
    CONSTRAINT hush_account_check1 CHECK (((spent2 >= 0) AND (spent2 <= limit2)))
);



CREATE TABLE public.hush_entry (
    seq bigint NOT NULL,
    kind text NOT NULL,
    scope text NOT NULL,
    key text NOT NULL,
    at text NOT NULL,
    body text NOT NULL,
    prev text NOT NULL,
    hash text NOT NULL
);



INSERT INTO public.hush_account VALUES ('dataset:concentrated', 'rho', -12, -18, '0', 4000000000000, 0, 68672839507, 0);
INSERT INTO public.hush_account VALUES ('dataset:gaussian', 'mu', -11, -18, '0', 3600000000000, 0, 26234567902, 0);
INSERT INTO public.hush_account VALUES ('analyst:ana', 'epsilon', -12, -17, '1/100000', 4000000000000, 1000000000000, 50000000000, 0);
INSERT INTO public.hush_account VALUES ('analyst:bo', 'rho', -12, -18, '0', 2000000000000, 0, 1250000000, 0);
INSERT INTO public.hush_account VALUES ('dataset:second', 'epsilon', -12, -17, '1/100000', 5000000000000, 1000000000000, 250000000000, 10000000000);
INSERT INTO public.hush_account VALUES ('dataset:visits', 'epsilon', -11, -16, '1/10000', 2500000000000, 2000000000000, 92320095569, 11000000000);
INSERT INTO public.hush_account VALUES ('unit:patients', 'epsilon', -11, -15, '1/1000', 3000000000000, 1000000000000, 117320095569, 1200000000);



INSERT INTO public.hush_entry VALUES (0, 'genesis', '', '', '2026-11-18T20:28:29.629+00:00', '{"admin":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","anchored":true,"format":1,"ledger":"7c11115544dba47f5283454eaca8cf04","rehearsal":false}', '0000000000000000000000000000000000000000000000000000000000000000', 'c4660fde02fe26d3a580c2e1f5e4005201cab5f303410a2cc5e75df43b1c4f49');
INSERT INTO public.hush_entry VALUES (1, 'grant', 'dataset:visits', '1', '2026-11-18T20:28:29.634+00:00', '{"by":"test office","delta":"1/10000","limit":[2000000000000,1000000000000],"notion":"epsilon","powers":[-11,-16],"signature":"dc8fb082179a2404cbead3cd5c30df3ed0501e52e8528edcbbb610e09b971b1fed5fd9ebfd729cf5433db11611ff1c553ecf07c9737882f5e595ab775eabd60c"}', 'c4660fde02fe26d3a580c2e1f5e4005201cab5f303410a2cc5e75df43b1c4f49', 'e040efd6c4cc6abbc863e7878e8fefcc192e0b12b9a2c7935f218ab2c0deeb2b');
INSERT INTO public.hush_entry VALUES (2, 'grant', 'dataset:second', '2', '2026-11-18T20:28:29.637+00:00', '{"by":"test office","delta":"1/100000","limit":[5000000000000,1000000000000],"notion":"epsilon","powers":[-12,-17],"signature":"392617a0c9e037b64d97aa246050a0d1f5ec8c3073868d22b69e3bf305a1282dba301076321c24136ec0cd9410bb99bcc28f7b151b551ca56c6d01d15b3b420f"}', 'e040efd6c4cc6abbc863e7878e8fefcc192e0b12b9a2c7935f218ab2c0deeb2b', '67a2535885bc8db43835d704b609fc88f09c36edfee73becc1181d14902a69eb');
INSERT INTO public.hush_entry VALUES (3, 'grant', 'dataset:concentrated', '3', '2026-11-18T20:28:29.641+00:00', '{"by":"test office","delta":"0","limit":[4000000000000,0],"notion":"rho","powers":[-12,-18],"signature":"74e627e09f4f2a0f1f1e28e96ea2ff49002b8b083e696df5217e662be1974f78e2c95b795c2a2efd6015479d25be8ef7cfb6a833e4427fa14f836c6c0a874c0c"}', '67a2535885bc8db43835d704b609fc88f09c36edfee73becc1181d14902a69eb', 'a61474e9be3bb1e3e2eca801b33c90a62d88ca817878ee2d193361d3a4dbb11c');
INSERT INTO public.hush_entry VALUES (4, 'grant', 'dataset:gaussian', '4', '2026-11-18T20:28:29.645+00:00', '{"by":"test office","delta":"0","limit":[3600000000000,0],"notion":"mu","powers":[-11,-18],"signature":"1b8451ca880a26c80e95f1bb6f56fb9dc874351e230a30729d753c4a13537907444f564e8f94a2a3bd5894204c11eaea177c0a01b14cd51d58f598ef5325f406"}', 'a61474e9be3bb1e3e2eca801b33c90a62d88ca817878ee2d193361d3a4dbb11c', 'b806f7c23aa26e376d402f65068b2a50b27616ce27570ea4dc204d8e82b110e7');
INSERT INTO public.hush_entry VALUES (5, 'grant', 'analyst:ana', '5', '2026-11-18T20:28:29.649+00:00', '{"by":"test office","delta":"1/100000","limit":[3000000000000,1000000000000],"notion":"epsilon","powers":[-12,-17],"signature":"00b8d75cfa9c10f4bcf167bac4948ccccaca95ed189ef4f8bd750953f8db5edff8dcd30b03114f18d3bb68d1234663434ae66deb72d92e2c7c1e2c952cc39003"}', 'b806f7c23aa26e376d402f65068b2a50b27616ce27570ea4dc204d8e82b110e7', '0d843977a1df9039cb4a1f29ee54c945ce74b1f5178406ceb6ed6829f7a077c3');
INSERT INTO public.hush_entry VALUES (6, 'grant', 'analyst:bo', '6', '2026-11-18T20:28:29.653+00:00', '{"by":"test office","delta":"0","limit":[2000000000000,0],"notion":"rho","powers":[-12,-18],"signature":"a7347f9d2b6f39a8b3404bc643e4cae7a3af7b6901cb42d2414032c01c2535d308a0f164a654e2721cb0d8d748aaadcba21245d465ea15c944e6f20597e57908"}', '0d843977a1df9039cb4a1f29ee54c945ce74b1f5178406ceb6ed6829f7a077c3', '9e667d9537325645bdbeeda940fdfd59aee36d8a7a3d0cb9ee2d231d3c980896');
INSERT INTO public.hush_entry VALUES (7, 'reserve', '["dataset:visits"]', 'count', '2026-11-18T20:28:29.658+00:00', '{"costs":{"dataset:visits":[10000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=10.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"468d72a1787d69cca1e43877f69b976d2bd95081078f7d57b4c14c8ac9ed0297"}', '9e667d9537325645bdbeeda940fdfd59aee36d8a7a3d0cb9ee2d231d3c980896', '99236549abbba5b0c56b0aa782fe9ef62cfbe416820a55df3379d73949fd50ce');
INSERT INTO public.hush_entry VALUES (8, 'seal', '["dataset:visits"]', 'count', '2026-11-18T20:28:29.661+00:00', '{"curve":{"epsilon":0.1,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"10"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":10.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.658+00:00","bounds":null,"cost":{"dataset:visits":["1/10","0"]},"hash":"99236549abbba5b0c56b0aa782fe9ef62cfbe416820a55df3379d73949fd50ce","key":"count","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Laplace(scale=10.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:visits":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":7,"unit":"row","version":""},"values":7}', '99236549abbba5b0c56b0aa782fe9ef62cfbe416820a55df3379d73949fd50ce', '2e89c0111a3d4a0ff5fa7990e846fffb4a51e7f1b2ae69c037cc28e31be4a15b');
INSERT INTO public.hush_entry VALUES (9, 'reserve', '["dataset:visits"]', 'versioned', '2026-11-18T20:28:29.666+00:00', '{"costs":{"dataset:visits":[10000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=10)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":"monday"},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"ccbe4b3ffe3d8c91198bea1604f54c542a84ba3bb207568e3605384bf9bb73d5"}', '2e89c0111a3d4a0ff5fa7990e846fffb4a51e7f1b2ae69c037cc28e31be4a15b', '7a34445cd1a1d2ffefdb8d0a85499292e5c987627c841b8e2cf187844f237b0c');
INSERT INTO public.hush_entry VALUES (10, 'seal', '["dataset:visits"]', 'versioned', '2026-11-18T20:28:29.669+00:00', '{"curve":{"epsilon":0.1,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"10"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":10},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.666+00:00","bounds":null,"cost":{"dataset:visits":["1/10","0"]},"hash":"7a34445cd1a1d2ffefdb8d0a85499292e5c987627c841b8e2cf187844f237b0c","key":"versioned","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Laplace(scale=10)","neighbors":"add-remove","notes":{},"notions":{"dataset:visits":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":9,"unit":"row","version":"monday"},"values":18}', '7a34445cd1a1d2ffefdb8d0a85499292e5c987627c841b8e2cf187844f237b0c', '6e48270570ba887d3f5fbe552a2056bea824502fbc5163b541cd8dcc421d2d78');
INSERT INTO public.hush_entry VALUES (11, 'reserve', '["dataset:visits"]', 'noted', '2026-11-18T20:28:29.673+00:00', '{"costs":{"dataset:visits":[14023778296,1000000000]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=30.0)","neighbors":"add-remove","notes":{"why":["a",1,null]},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"e31f96d03f0bbacffcca409492b230b83850e30908e2807c896d2600c173bc99"}', '6e48270570ba887d3f5fbe552a2056bea824502fbc5163b541cd8dcc421d2d78', '3e7291a2d0849f03434c417cbca4b22e2e6aac801f292622b048432c0d986a8b');
INSERT INTO public.hush_entry VALUES (12, 'seal', '["dataset:visits"]', 'noted', '2026-11-18T20:28:29.677+00:00', '{"curve":{"mu":0.03333333333333336,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"2061584302080"}}}},{"class":"value","value":{"hush":"fraction","value":"1/68719476736"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":36},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"2061584302080"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":30.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.673+00:00","bounds":null,"cost":{"dataset:visits":["1752972287/12500000000","1/10000000"]},"hash":"3e7291a2d0849f03434c417cbca4b22e2e6aac801f292622b048432c0d986a8b","key":"noted","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Gaussian(std=30.0)","neighbors":"add-remove","notes":{"why":["a",1,null]},"notions":{"dataset:visits":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":11,"unit":"row","version":""},"values":-64}', '3e7291a2d0849f03434c417cbca4b22e2e6aac801f292622b048432c0d986a8b', '319a4fe2a52660fefbae4ad98f34d0c6fdb0387913bd20bb9c8fbb2fbbbfb1c1');
INSERT INTO public.hush_entry VALUES (13, 'charge', '["dataset:visits"]', 'charged', '2026-11-18T20:28:29.681+00:00', '{"costs":{"dataset:visits":[12500000000,0]},"facts":{"library":"0.1.0","mechanism":"Pure(epsilon=0.125)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"7dad9cdaea3d50c7c531534207069eda26694f8e8eb75ff0b4369bcd1cf3564a"}', '319a4fe2a52660fefbae4ad98f34d0c6fdb0387913bd20bb9c8fbb2fbbbfb1c1', '67be210aec07b1ab3124a219f38b6ecc2cf4b5751fc7e9fa79a77a57f9405f8d');
INSERT INTO public.hush_entry VALUES (14, 'reserve', '["dataset:concentrated"]', 'concentrated', '2026-11-18T20:28:29.686+00:00', '{"costs":{"dataset:concentrated":[6172839507,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:concentrated":["rho",-12,-18]},"request":"f8bab9d0694e4be152dad73aa3bda9124e69c1487e122a18aef7be6e7fa3a667"}', '67be210aec07b1ab3124a219f38b6ecc2cf4b5751fc7e9fa79a77a57f9405f8d', 'b207fdf4684dcdd3793b85f15832fe132fc3810bd0793b2301d63536a2e3be81');
INSERT INTO public.hush_entry VALUES (15, 'seal', '["dataset:concentrated"]', 'concentrated', '2026-11-18T20:28:29.689+00:00', '{"curve":{"mu":0.1111111111111112,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}},{"class":"value","value":{"hush":"fraction","value":"1/137438953472"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":37},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":9.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.686+00:00","bounds":null,"cost":{"dataset:concentrated":["6172839507/1000000000000","0"]},"hash":"b207fdf4684dcdd3793b85f15832fe132fc3810bd0793b2301d63536a2e3be81","key":"concentrated","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:concentrated":"rho"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":14,"unit":"row","version":""},"values":12}', 'b207fdf4684dcdd3793b85f15832fe132fc3810bd0793b2301d63536a2e3be81', '307c441711b776012541b1019284612347dd28547c584f34d16bdcb610c927f1');
INSERT INTO public.hush_entry VALUES (16, 'charge', '["dataset:concentrated"]', 'concentrated charge', '2026-11-18T20:28:29.693+00:00', '{"costs":{"dataset:concentrated":[62500000000,0]},"facts":{"library":"0.1.0","mechanism":"ZCDP(rho=0.0625)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:concentrated":["rho",-12,-18]},"request":"a929a629cd5a2ce500e02907cd93abba89436a5745475e7883c821847621f27a"}', '307c441711b776012541b1019284612347dd28547c584f34d16bdcb610c927f1', '3aa1bb457a69fe37154aba6d8d5865a82fd45cb64f3d06021feea8ff6811887a');
INSERT INTO public.hush_entry VALUES (17, 'reserve', '["dataset:gaussian"]', 'gaussian', '2026-11-18T20:28:29.697+00:00', '{"costs":{"dataset:gaussian":[1234567902,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:gaussian":["mu",-11,-18]},"request":"27ca7d8572d1bd7a3ca6895dddc4a2b04dc0ded24a86261ab55f6b22788f18b2"}', '3aa1bb457a69fe37154aba6d8d5865a82fd45cb64f3d06021feea8ff6811887a', '434f9138047d3ab3992210b106e4162c077937e975c49ca3819ea9934d4138db');
INSERT INTO public.hush_entry VALUES (18, 'seal', '["dataset:gaussian"]', 'gaussian', '2026-11-18T20:28:29.705+00:00', '{"curve":{"mu":0.1111111111111112,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}},{"class":"value","value":{"hush":"fraction","value":"1/137438953472"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":37},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":9.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.697+00:00","bounds":null,"cost":{"dataset:gaussian":["617283951/50000000000","0"]},"hash":"434f9138047d3ab3992210b106e4162c077937e975c49ca3819ea9934d4138db","key":"gaussian","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:gaussian":"mu"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":17,"unit":"row","version":""},"values":24}', '434f9138047d3ab3992210b106e4162c077937e975c49ca3819ea9934d4138db', '249e28f9c3d50f5406e9f0f8e29e5d2b77facf4d44c24f9c404cedcfac5f5d39');
INSERT INTO public.hush_entry VALUES (19, 'charge', '["dataset:gaussian"]', 'gaussian charge', '2026-11-18T20:28:29.710+00:00', '{"costs":{"dataset:gaussian":[25000000000,0]},"facts":{"library":"0.1.0","mechanism":"GDP(mu=0.5)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:gaussian":["mu",-11,-18]},"request":"ce0a01c8a08b169003078e1af1b166c1fc0ef1f896861f29cb9fe2098d768ec3"}', '249e28f9c3d50f5406e9f0f8e29e5d2b77facf4d44c24f9c404cedcfac5f5d39', '217848657292d655e6c834905094ffddf4d47a91ba14ffb7efbd383e92e4caa6');
INSERT INTO public.hush_entry VALUES (20, 'grant', 'unit:patients', '20', '2026-11-18T20:28:29.713+00:00', '{"by":"test office","delta":"1/1000","limit":[3000000000000,1000000000000],"notion":"epsilon","powers":[-11,-15],"signature":"ba96b2b75327adbaf38ec954876abd1e45d69d2e321e681eebfc3bb6a192013ae24e0703c2eff3c3bfdcbb20b8d9db807df46d3f825a0fb97b2fac0bd9afc608"}', '217848657292d655e6c834905094ffddf4d47a91ba14ffb7efbd383e92e4caa6', '635d15f7559978238b8fe31dc1a8295b97985dc758640b7f256327934070d398');
INSERT INTO public.hush_entry VALUES (21, 'link', 'dataset:visits', 'unit:patients', '2026-11-18T20:28:29.714+00:00', '{"by":"test office","carried":[46523778296,100000000],"signature":"8515c091d2a203df5f0df5865e3ac6736b95d91936e07b892752132abbb0e48adbae612da66abe2e8469c472442c6021abb9413fdea3ed4c9a625d4b92d0e408"}', '635d15f7559978238b8fe31dc1a8295b97985dc758640b7f256327934070d398', '29aec827afb5680c60b8dce6f257126725078679bcfa52a950e41a3b969cccea');
INSERT INTO public.hush_entry VALUES (22, 'link', 'dataset:second', 'unit:patients', '2026-11-18T20:28:29.717+00:00', '{"by":"test office","signature":"5b1dceb812b658e2e07ddbc0b7ea774c0f182d659daed3b5bc9133ee21033c069ead554e350a0367d144240c13fdcfac72754aac6e1430a5fad5e8fc7bd71400"}', '29aec827afb5680c60b8dce6f257126725078679bcfa52a950e41a3b969cccea', 'a9af8f6fc0af6c224998f0007e6255cb027031ee79617c8e53323e5ab384faa9');
INSERT INTO public.hush_entry VALUES (23, 'grant', 'dataset:visits', '23', '2026-11-18T20:28:29.721+00:00', '{"by":"test office","delta":"1/10000","limit":[2500000000000,2000000000000],"notion":"epsilon","powers":[-11,-16],"reason":"second year","signature":"6f64bc3a4f460ed7a2782acbcdaa65ff236ff8ab0280e57c93287714dc586d26334f1e4ac4567d8147b6b057e6abf960d5746df048c14500f0d09c3c46ac4403"}', 'a9af8f6fc0af6c224998f0007e6255cb027031ee79617c8e53323e5ab384faa9', '945d41cffbfebd11cf025a630b59769c9ac5206f4492cc6bd47c0d584dddca5d');
INSERT INTO public.hush_entry VALUES (24, 'grant', 'analyst:ana', '24', '2026-11-18T20:28:29.725+00:00', '{"by":"test office","delta":"1/100000","limit":[4000000000000,1000000000000],"notion":"epsilon","powers":[-12,-17],"signature":"4cf749d5ed3e5a5783a2d4d17bb59b82d3986ced2eb45e39634dc788c3811c45b74b5bada12c3d819f0837ea3eb29831821a856fda85e2419d6ec699d469ef04"}', '945d41cffbfebd11cf025a630b59769c9ac5206f4492cc6bd47c0d584dddca5d', '5db7183614493a975e88d2e15f0a98f5d41395b74ed3de0c1180f631920f2c49');
INSERT INTO public.hush_entry VALUES (25, 'reserve', '["analyst:ana","dataset:visits"]', 'of ana', '2026-11-18T20:28:29.730+00:00', '{"costs":{"analyst:ana":[50000000000,0],"dataset:visits":[5000000000,0],"unit:patients":[5000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=20.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"analyst:ana":["epsilon",-12,-17],"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"56ecff81723125e57e9b00fb87451aa8d51f310a33b66ab26fc8ca544c73fd0a"}', '5db7183614493a975e88d2e15f0a98f5d41395b74ed3de0c1180f631920f2c49', 'a38f939e1b85b2e7e33c9aaa1a37b87e5916ed63541b97abc3ff7f23a24fe9fe');
INSERT INTO public.hush_entry VALUES (26, 'seal', '["analyst:ana","dataset:visits"]', 'of ana', '2026-11-18T20:28:29.733+00:00', '{"curve":{"epsilon":0.05,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"20"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":20.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.730+00:00","bounds":null,"cost":{"analyst:ana":["1/20","0"],"dataset:visits":["1/20","0"],"unit:patients":["1/20","0"]},"hash":"a38f939e1b85b2e7e33c9aaa1a37b87e5916ed63541b97abc3ff7f23a24fe9fe","key":"of ana","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Laplace(scale=20.0)","neighbors":"add-remove","notes":{},"notions":{"analyst:ana":"epsilon","dataset:visits":"epsilon","unit:patients":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":25,"unit":"row","version":""},"values":4}', 'a38f939e1b85b2e7e33c9aaa1a37b87e5916ed63541b97abc3ff7f23a24fe9fe', '4c3faea1ae157b5be199312f28f21b0a7abe4b27a4c7626c17927daca469f07b');
INSERT INTO public.hush_entry VALUES (27, 'reserve', '["analyst:bo","dataset:visits"]', 'of bo', '2026-11-18T20:28:29.738+00:00', '{"costs":{"analyst:bo":[1250000000,0],"dataset:visits":[18921317273,10000000000],"unit:patients":[18921317273,1000000000]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=20.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"analyst:bo":["rho",-12,-18],"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"94fbef0a65d75a24844d82b4c1ff1b9d02319f5c9f9b729fc46804443ae3c8e7"}', '4c3faea1ae157b5be199312f28f21b0a7abe4b27a4c7626c17927daca469f07b', 'bfd11a76735b8a394df2df831a28ab9a9e8f9203cfa3e993ec3f7456fb8d5a0d');
INSERT INTO public.hush_entry VALUES (28, 'seal', '["analyst:bo","dataset:visits"]', 'of bo', '2026-11-18T20:28:29.741+00:00', '{"curve":{"mu":0.050000000000000044,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1374389534720"}}}},{"class":"value","value":{"hush":"fraction","value":"1/68719476736"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":36},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1374389534720"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":20.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.738+00:00","bounds":null,"cost":{"analyst:bo":["1/800","0"],"dataset:visits":["18921317273/100000000000","1/1000000"],"unit:patients":["18921317273/100000000000","1/1000000"]},"hash":"bfd11a76735b8a394df2df831a28ab9a9e8f9203cfa3e993ec3f7456fb8d5a0d","key":"of bo","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Gaussian(std=20.0)","neighbors":"add-remove","notes":{},"notions":{"analyst:bo":"rho","dataset:visits":"epsilon","unit:patients":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":27,"unit":"row","version":""},"values":18}', 'bfd11a76735b8a394df2df831a28ab9a9e8f9203cfa3e993ec3f7456fb8d5a0d', 'c6d41519b8bbe003c0f5f6714490b56f0ef198a2c8b901f2ce6471138ffb3955');
INSERT INTO public.hush_entry VALUES (29, 'charge', '["dataset:second"]', 'second', '2026-11-18T20:28:29.746+00:00', '{"costs":{"dataset:second":[250000000000,10000000000],"unit:patients":[25000000000,100000000]},"facts":{"library":"0.1.0","mechanism":"Approx(epsilon=0.25, delta=1e-07)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:second":["epsilon",-12,-17],"unit:patients":["epsilon",-11,-15]},"request":"4e92372c06178acde95f1dc29cad6bd9b741ee8c1e36f7386b1e6cb8ab151235"}', 'c6d41519b8bbe003c0f5f6714490b56f0ef198a2c8b901f2ce6471138ffb3955', '2bfc95a0644335e469974f90ab5af85bcd676ad49d514fc1280a1412496518d8');
INSERT INTO public.hush_entry VALUES (30, 'hold', '["dataset:visits"]', 'held', '2026-11-18T20:28:29.749+00:00', '{"costs":{"dataset:visits":[6250000000,0],"unit:patients":[6250000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=16.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"534a3af2698c4d6b67edd7626070573467ef489793b8ad06de63305d7b28967d"}', '2bfc95a0644335e469974f90ab5af85bcd676ad49d514fc1280a1412496518d8', '39d9d08ffe12d957aeb5529350f9693577b02eee6d152035662ebb07b9b9031a');
INSERT INTO public.hush_entry VALUES (31, 'hold', '["dataset:visits"]', 'held, then drawn', '2026-11-18T20:28:29.753+00:00', '{"costs":{"dataset:visits":[12500000000,0],"unit:patients":[12500000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=8.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"f61b89c35f0d242baad2bd25c1cdd946aea3228d2757aa6ed2ddc442f24ab3d4"}', '39d9d08ffe12d957aeb5529350f9693577b02eee6d152035662ebb07b9b9031a', '433d4e7909c7ae848bd6aaea4f2a2537b2020c8635c185e48d7191eedc3a5373');
INSERT INTO public.hush_entry VALUES (32, 'hold', '["dataset:visits"]', 'held, then void', '2026-11-18T20:28:29.757+00:00', '{"costs":{"dataset:visits":[25000000000,0],"unit:patients":[25000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=4.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"2f42bafa8f249ab25b1d905bb1db361eeded68c8c187a369d814c654fbe0dc0e"}', '433d4e7909c7ae848bd6aaea4f2a2537b2020c8635c185e48d7191eedc3a5373', 'bf3f59fcde1dda9ce3dfe90a95bcdc27cf1f415d3181e32c3ae556c1de40e1dc');
INSERT INTO public.hush_entry VALUES (33, 'start', '["dataset:visits"]', 'held, then drawn', '2026-11-18T20:28:29.761+00:00', '{}', 'bf3f59fcde1dda9ce3dfe90a95bcdc27cf1f415d3181e32c3ae556c1de40e1dc', '311755071e65d7613694b61d088e00b83d74a9f31d9e2ef06208caf7bccc30a3');
INSERT INTO public.hush_entry VALUES (34, 'seal', '["dataset:visits"]', 'held, then drawn', '2026-11-18T20:28:29.765+00:00', '{"curve":{"epsilon":0.125,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"8"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":8.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:28:29.753+00:00","bounds":null,"cost":{"dataset:visits":["1/8","0"],"unit:patients":["1/8","0"]},"hash":"433d4e7909c7ae848bd6aaea4f2a2537b2020c8635c185e48d7191eedc3a5373","key":"held, then drawn","keys":"","ledger":"7c11115544dba47f5283454eaca8cf04","library":"0.1.0","mechanism":"Laplace(scale=8.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:visits":"epsilon","unit:patients":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":31,"unit":"row","version":""},"values":9}', '311755071e65d7613694b61d088e00b83d74a9f31d9e2ef06208caf7bccc30a3', 'b863b1d6d6ffa25a5982116ef8ff80f7d6eab11a4dacbb11c88a9cf74162ec6e');
INSERT INTO public.hush_entry VALUES (35, 'void', '["dataset:visits"]', 'held, then void', '2026-11-18T20:28:29.769+00:00', '{"by":"test office","reason":"nobody needs it","signature":"683cd3789dae9489ae20c03c952a22916f94719ba04fc5aa44a481779a1d15ba5120b304ed05d7d4747a319ddd387980690fc877c562317f529992a1f4e7fe00"}', 'b863b1d6d6ffa25a5982116ef8ff80f7d6eab11a4dacbb11c88a9cf74162ec6e', 'b6ce7535d15df36453e6a4105a90052d01e6b58bd4edd0e58484dd3149f0097a');
INSERT INTO public.hush_entry VALUES (36, 'reserve', '["dataset:visits"]', 'failed', '2026-11-18T20:28:29.774+00:00', '{"costs":{"dataset:visits":[3125000000,0],"unit:patients":[3125000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=32.0)","neighbors":"add-remove","notes":{},"query":"Broken(sensitivity=1, neighbors=''add-remove'', unit=''row'')","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"1bcc954c5b034764a68212e6f615b32b64edc47efc07f929d53a9ebc05873329"}', 'b6ce7535d15df36453e6a4105a90052d01e6b58bd4edd0e58484dd3149f0097a', 'cf47b4f6805dfa37c73d08410f46c8a3979ece455df9ae2982e78f3e23e81204');
INSERT INTO public.hush_entry VALUES (37, 'fail', '["dataset:visits"]', 'failed', '2026-11-18T20:28:29.776+00:00', '{"error":"query_failed"}', 'cf47b4f6805dfa37c73d08410f46c8a3979ece455df9ae2982e78f3e23e81204', 'fbbed640c3c534862d11531cc54fd682704b56b754103f00110911d8ba0883c9');
INSERT INTO public.hush_entry VALUES (38, 'unlock', '["dataset:visits"]', '3402d2d0a3155f8b', '2026-11-18T20:28:29.781+00:00', '{"by":"test office","reason":"the failure was looked into","signature":"2db2bdba7403652f109907648550b5ad841b0675f9c3ff1147ad0da44b1ca286ce2eb4521fccb023d436881f7815e1b777983af8cccc49764ae034e50d9e3e0f"}', 'fbbed640c3c534862d11531cc54fd682704b56b754103f00110911d8ba0883c9', '842d1323fd238deeb43708d7dacfe3ba9c804790a746e507eec34870cbce0895');



ALTER TABLE ONLY public.hush_account
    ADD CONSTRAINT hush_account_pkey PRIMARY KEY (name);



ALTER TABLE ONLY public.hush_entry
    ADD CONSTRAINT hush_entry_pkey PRIMARY KEY (seq);



CREATE UNIQUE INDEX hush_key ON public.hush_entry USING btree (scope, key, (
CASE
    WHEN (kind = ANY (ARRAY['charge'::text, 'reserve'::text, 'hold'::text])) THEN 0
    WHEN (kind = ANY (ARRAY['seal'::text, 'fail'::text, 'void'::text])) THEN 2
    ELSE 1
END));



CREATE INDEX hush_rare ON public.hush_entry USING btree (scope, kind, seq) WHERE (kind = ANY (ARRAY['fail'::text, 'link'::text, 'unlock'::text]));



CREATE TRIGGER hush_account_delete BEFORE DELETE ON public.hush_account FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.hush_refuse('an account cannot be removed');



CREATE TRIGGER hush_account_truncate BEFORE TRUNCATE ON public.hush_account FOR EACH STATEMENT EXECUTE FUNCTION public.hush_refuse('history is append-only');



CREATE TRIGGER hush_account_update BEFORE UPDATE OF name, notion, power1, power2, delta, limit1, limit2 ON public.hush_account FOR EACH ROW WHEN (((new.name <> old.name) OR (new.notion <> old.notion) OR (new.power1 <> old.power1) OR (new.power2 <> old.power2) OR (new.delta <> old.delta) OR (new.limit1 < old.limit1) OR (new.limit2 < old.limit2))) EXECUTE FUNCTION public.hush_refuse('a grant cannot be cut or changed');



CREATE TRIGGER hush_entry_delete BEFORE DELETE ON public.hush_entry FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.hush_refuse('history is append-only');



CREATE TRIGGER hush_entry_truncate BEFORE TRUNCATE ON public.hush_entry FOR EACH STATEMENT EXECUTE FUNCTION public.hush_refuse('history is append-only');



CREATE TRIGGER hush_entry_update BEFORE UPDATE ON public.hush_entry FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.hush_refuse('history is append-only');


